//! The commands about traces: `analyze`, `convert`, `gen`.

use crate::{BAD_INPUT, FINE, RACES};
use analyze::detectors::{Choice, DETECTORS, Options, samples, that_take};
use analyze::show::{self, Style};
use analyze::{Failure, analyze};
use clap::Args;
use oracle::r#gen::random;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use trace::shapes::{SHAPES, Size};
use trace::{Error, Format, Reader, Writer};

fn detector_names() -> String {
    DETECTORS
        .iter()
        .map(|entry| format!("  {:14} {}", entry.name, entry.about))
        .collect::<Vec<_>>()
        .join("\n")
}

fn shape_names() -> String {
    SHAPES
        .iter()
        .map(|shape| format!("  {:14} {}", shape.name, shape.about))
        .chain([format!(
            "  {:14} every kind of operation, at random",
            RANDOM
        )])
        .collect::<Vec<_>>()
        .join("\n")
}

const RANDOM: &str = "random";

/// `footrace analyze`.
#[derive(Args)]
#[command(after_help = format!("Detectors:\n{}\n\nExit code: 0 no race, 66 races, 2 bad input.", detector_names()))]
pub(crate) struct Analyze {
    /// The trace, text or binary; `-` for standard input.
    file: PathBuf,
    /// Which detector.
    #[arg(long, default_value = "fasttrack")]
    detector: String,
    /// The share of the execution that `pacer` looks at, 0 to 1 [default: what the trace marks, or 1].
    #[arg(long, value_parser = rate)]
    rate: Option<f64>,
    /// Where the choices of `pacer` at a rate, and of `literace`, come from [default: 0].
    #[arg(long)]
    seed: Option<u64>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Print the detector's counters and the shadow of arrays.
    #[arg(long)]
    stats: bool,
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.0..=1.0).contains(&rate) => Ok(rate),
        _ => Err("a number from 0 to 1 is expected".to_string()),
    }
}

fn is_stdio(path: &Path) -> bool {
    path.as_os_str() == "-"
}

type Input = BufReader<Box<dyn Read>>;

fn open(path: &Path) -> Result<Input, Error> {
    let input: Box<dyn Read> = if is_stdio(path) {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path)?)
    };
    Ok(trace::buffered(input))
}

fn style(path: &Path) -> Style {
    Style {
        path: path.display().to_string(),
        color: io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
    }
}

/// Standard output may be closed by who reads it; that is not our error.
fn print(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}

fn complain(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

impl Analyze {
    /// What is wrong with an option that would change nothing.
    fn without_effect(&self) -> Option<String> {
        let detector = &self.detector;
        if !DETECTORS.iter().any(|entry| entry.name == detector) {
            // That is said when it is looked for.
            return None;
        }
        let given = [
            ("--rate", Choice::Rate, self.rate.is_some()),
            ("--seed", Choice::Seed, self.seed.is_some()),
        ];
        for (option, choice, given) in given {
            let taking: Vec<_> = that_take(choice).collect();
            if given && !taking.contains(&detector.as_str()) {
                return Some(format!(
                    "`{option}` says nothing to `{detector}`; it is for: {}",
                    taking.join(" ")
                ));
            }
        }
        let by_marks = samples(detector) && self.rate.is_none() && self.seed.is_some();
        by_marks.then(|| {
            format!("`--seed` says nothing to `{detector}` without `--rate`: the trace's marks say when to sample")
        })
    }

    pub(crate) fn run(self) -> u8 {
        if let Some(wrong) = self.without_effect() {
            complain(&format!("error: {wrong}\n"));
            return BAD_INPUT;
        }
        let options = Options {
            rate: self.rate,
            seed: self.seed.unwrap_or(0),
            ..Options::default()
        };
        let mut opened = 0;
        let (report, end) = analyze(&self.detector, &options, || {
            opened += 1;
            if opened > 1 && is_stdio(&self.file) {
                return Ok(None);
            }
            Reader::new(open(&self.file)?).map(Some)
        });
        let style = style(&self.file);
        let mut code = FINE;
        if let Some(report) = report {
            if !report.racy_locations.is_empty() {
                code = RACES;
            }
            if self.json {
                print(&show::json(&report));
            } else {
                print(&show::report(&report, &style));
            }
            if self.stats && !self.json {
                print(&show::stats(&report.stats));
            }
        }
        match end {
            Ok(()) => code,
            Err(Failure::Trace(e)) => {
                complain(&show::error(&e, &style));
                BAD_INPUT
            }
            Err(Failure::Detector(e)) => {
                complain(&format!("error: {e}\n"));
                BAD_INPUT
            }
        }
    }
}

/// `footrace convert`.
#[derive(Args)]
#[command(
    after_help = "Text becomes binary and binary becomes text. Of a damaged trace, what comes before the damage is converted."
)]
pub(crate) struct Convert {
    /// The trace; `-` for standard input.
    from: PathBuf,
    /// The new file; `-` for standard output.
    to: PathBuf,
}

impl Convert {
    pub(crate) fn run(self) -> u8 {
        match self.try_run() {
            Ok(()) => FINE,
            Err((e, path)) => {
                complain(&show::error(&e, &style(&path)));
                BAD_INPUT
            }
        }
    }

    fn try_run(self) -> Result<(), (Error, PathBuf)> {
        let Convert { from, to } = self;
        let in_from = |e| (e, from.clone());
        let reader = open(&from).and_then(Reader::new).map_err(in_from)?;
        let format = match reader.format() {
            Format::Text => Format::Binary,
            Format::Binary => Format::Text,
        };
        let output = create(&to).map_err(|e| (e, to.clone()))?;
        let writer = Writer::new(output, format).map_err(|e| (e, to.clone()))?;
        trace::copy(reader, writer).1.map_err(in_from)
    }
}

fn create(path: &Path) -> Result<Box<dyn Write>, Error> {
    Ok(if is_stdio(path) {
        Box::new(io::stdout())
    } else {
        Box::new(File::create(path)?)
    })
}

/// `footrace gen`.
#[derive(Args)]
#[command(after_help = format!("Shapes:\n{}", shape_names()))]
pub(crate) struct Generate {
    /// Which shape.
    name: String,
    /// Problem size: elements, rows or particles, by shape; for `random`, events.
    #[arg(long)]
    size: Option<u64>,
    /// Worker threads.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    threads: u32,
    /// How often the work is repeated, for the shapes that repeat.
    #[arg(long)]
    iterations: Option<u64>,
    /// For `random`, and for what is random in a shape.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write text, not binary.
    #[arg(long)]
    text: bool,
    /// The file to write; standard output if not given.
    #[arg(short, long)]
    output: Option<PathBuf>,
}

impl Generate {
    pub(crate) fn run(self) -> u8 {
        let path = self.output.clone().unwrap_or_else(|| PathBuf::from("-"));
        match self.try_run(&path) {
            Ok(true) => FINE,
            Ok(false) => {
                let names: Vec<_> = SHAPES.iter().map(|s| s.name).collect();
                let known = names.join(" ");
                complain(&format!(
                    "error: there is no shape `{}`; there are: {known} {RANDOM}\n",
                    self.name
                ));
                BAD_INPUT
            }
            // Who reads our output has had enough.
            Err(Error::Io(e)) if e.kind() == io::ErrorKind::BrokenPipe => FINE,
            Err(e) => {
                complain(&show::error(&e, &style(&path)));
                BAD_INPUT
            }
        }
    }

    fn try_run(&self, path: &Path) -> Result<bool, Error> {
        let shape = SHAPES.iter().find(|shape| shape.name == self.name);
        if shape.is_none() && self.name != RANDOM {
            return Ok(false);
        }
        let format = if self.text {
            Format::Text
        } else {
            Format::Binary
        };
        let mut writer = Writer::new(create(path)?, format)?;
        if let Some(shape) = shape {
            let size = Size {
                size: self.size,
                iterations: self.iterations,
                threads: self.threads,
                seed: self.seed,
            };
            shape.generate(&size, &mut |event, names| writer.write(event, names))?;
        } else {
            let events = usize::try_from(self.size.unwrap_or(1000)).unwrap_or(usize::MAX);
            let names = trace::Names::new();
            let config = random::mixed(events, self.threads);
            let mut written = Ok(());
            random::stream(&config, self.seed, &mut |event| {
                if written.is_ok() {
                    written = writer.write(&event, &names);
                }
            });
            written?;
        }
        writer.finish()?;
        Ok(true)
    }
}
