//! The command `place`: check placement on a BFJ program.

use crate::{BAD_INPUT, FINE};
use clap::{Args, ValueEnum};
use placement::{Counts, Mode, Options, ProxyUse, place_program, text};
use std::io::Write;
use std::path::PathBuf;

#[derive(Clone, Copy, ValueEnum)]
enum Placing {
    /// A check at each access.
    All,
    /// At each access, unless an earlier one in the same release-free span makes it redundant.
    Redcard,
    /// Deferred, merged and coalesced.
    Bigfoot,
}

/// `footrace place`.
#[derive(Args)]
pub(crate) struct Place {
    /// The program, in BFJ (see the documentation of the crate `placement`).
    file: PathBuf,
    /// Which checks are made.
    #[arg(long, value_enum, default_value = "bigfoot")]
    mode: Placing,
    /// Show the contexts H • A between the statements.
    #[arg(long)]
    contexts: bool,
    /// Use what may name the wrong address once there is a race: alias facts and one-way proxies.
    #[arg(long)]
    trace_precise: bool,
    /// Believe that every loop ends, as the paper does.
    #[arg(long)]
    loops_end: bool,
    /// Put checks of what an index in memory leads to on lists, as programs are linked.
    #[arg(long)]
    lists: bool,
    /// Take an element that a loop chooses for the one that it began with, as programs are linked.
    #[arg(long)]
    choices: bool,
    /// Count accesses and checks, by rule.
    #[arg(long)]
    stats: bool,
}

impl Place {
    pub(crate) fn run(self) -> u8 {
        match self.place() {
            Ok(text) => {
                // Standard output may be closed by who reads it; that is not our error.
                let _ = std::io::stdout().write_all(text.as_bytes());
                FINE
            }
            Err(message) => {
                let _ = writeln!(std::io::stderr(), "error: {message}");
                BAD_INPUT
            }
        }
    }

    fn place(&self) -> Result<String, String> {
        let name = self.file.display();
        let input = std::fs::read_to_string(&self.file)
            .map_err(|e| format!("cannot read {name}: {e}; give the path of a BFJ program"))?;
        let lowered = text::parse(&input)
            .and_then(|source| text::lower(&source))
            .map_err(|e| format!("{name}:{e}"))?;
        let options = Options {
            mode: match self.mode {
                Placing::All => Mode::All,
                Placing::Redcard => Mode::RedCard,
                Placing::Bigfoot => Mode::BigFoot,
            },
            alias_facts: self.trace_precise,
            proxies: if self.trace_precise {
                ProxyUse::OneWay
            } else {
                ProxyUse::Never
            },
            loops_end: self.loops_end,
            copies_stay: false,
            elements_with_ranges: false,
            gathers: self.lists,
            choices: self.choices,
            contexts: self.contexts,
        };
        let placed = place_program(&lowered.program, options);
        let mut out = text::annotate(&lowered, &placed.placements, self.contexts);
        for proxy in placed.proxies.describe(&lowered.program) {
            out.push_str(&format!("// proxy: {proxy}\n"));
        }
        if self.stats {
            let counts = placed.placements.iter().map(|p| p.counts);
            out.push_str(&stats(counts.fold(Counts::default(), Counts::plus)));
        }
        Ok(out)
    }
}

fn stats(c: Counts) -> String {
    [
        ("accesses", c.accesses),
        ("checks", c.checks),
        ("[ACQ] and other deadlines", c.at_acquire),
        ("[REL]", c.at_release),
        ("[IF], [LOOP]", c.at_merge),
        ("ends", c.at_end),
        ("checked on the spot", c.immediate),
        ("commits of endless loops", c.commits),
        ("functions not analysed", c.fallback),
        ("accesses not deferred", c.stayed),
    ]
    .iter()
    .map(|(what, n)| format!("// {n:8} {what}\n"))
    .collect()
}
