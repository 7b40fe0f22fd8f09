//! What `footrace-ld` tells the plugin, through the environment: a pass plugin has no arguments of
//! its own.
use std::env;

/// Which checks are inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placement {
    /// One before each access that another thread could see.
    All,
    /// The same without those that an earlier check in the same release-free span makes redundant.
    RedCard,
    /// Deferred, merged and coalesced: see [`crate::bigfoot`].
    BigFoot,
}

impl Placement {
    const ALL: &[(&str, Placement)] = &[
        ("all", Placement::All),
        ("redcard", Placement::RedCard),
        ("bigfoot", Placement::BigFoot),
    ];

    pub(crate) fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, placement)| *placement == self)
            .map_or("", |(name, _)| name)
    }
}

/// Where the counts go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Report {
    /// Nowhere.
    No,
    /// To standard error.
    Print,
    /// To the end of a file: rustc and cargo keep a linker's words to themselves.
    Append(String),
}

/// The plugin's settings.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) placement: Placement,
    /// Say what was done.
    pub(crate) stats: Report,
    /// Let the program count its accesses and checks.
    pub(crate) count: bool,
    /// Let the program tell of its accesses, too.
    pub(crate) witness: bool,
    /// Bodies of the hot checks, as bitcode.
    pub(crate) hot: Option<String>,
}

fn is_set(variable: &str) -> bool {
    !matches!(env::var(variable).unwrap_or_default().as_str(), "" | "0")
}

impl Options {
    pub(crate) fn from_environment() -> Result<Options, String> {
        let name = env::var("FOOTRACE_PLACEMENT").unwrap_or_else(|_| "all".to_owned());
        let placement = Placement::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, placement)| *placement)
            .ok_or_else(|| {
                let known: Vec<_> = Placement::ALL.iter().map(|(name, _)| *name).collect();
                format!(
                    "unknown placement `{name}` (FOOTRACE_PLACEMENT or -ffootrace=); known: {}",
                    known.join(", ")
                )
            })?;
        Ok(Options {
            placement,
            stats: match env::var("FOOTRACE_STATS").unwrap_or_default().as_str() {
                "" | "0" => Report::No,
                "1" => Report::Print,
                path => Report::Append(path.to_owned()),
            },
            count: is_set("FOOTRACE_COUNT"),
            witness: is_set("FOOTRACE_WITNESS"),
            hot: env::var("FOOTRACE_HOT")
                .ok()
                .filter(|path| !path.is_empty()),
        })
    }
}
