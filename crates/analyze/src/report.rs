//! The result of an analysis, as data. Its serialised form is what `--json` prints.

use serde::Serialize;
use std::collections::BTreeMap;

/// What one detector found in one trace.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The detector's name.
    pub detector: String,
    /// Events analysed.
    pub events: u64,
    /// Every location that races, sorted: variables, elements as `a[3]`, memory without a name as runs of addresses.
    pub racy_locations: Vec<String>,
    /// Each unique race, in the order in which they were found.
    pub races: Vec<UniqueRace>,
    /// Counters.
    pub stats: Stats,
}

/// A pair of places in the program that race.
#[derive(Clone, Debug, Serialize)]
pub struct UniqueRace {
    /// Where in memory the first of them happened.
    pub location: String,
    /// The earlier access.
    pub first: Side,
    /// The later access.
    pub second: Side,
    /// How often it was reported.
    pub count: u64,
}

/// One access of a race.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// Name of the thread.
    pub thread: String,
    /// `read` or `write`.
    pub kind: &'static str,
    /// Was it an atomic operation?
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub atomic: bool,
    /// Name of the site, if it has one.
    pub site: Option<String>,
    /// The event: a line of a text, an index from 1 in a binary trace. Unknown if the trace cannot be read twice.
    pub event: Option<u64>,
    /// The event as a line of text.
    #[serde(skip)]
    pub moment: Option<Moment>,
}

/// An event in its trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Line of a text, index from 1 in a binary trace.
    pub event: u64,
    /// The line.
    pub text: String,
    /// Where the operation stands in it, from 1.
    pub column: usize,
    /// How many characters it has.
    pub width: usize,
}

/// What was counted.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Stats {
    /// Locations accessed: an access counts once, a range once for each element.
    pub accesses: u64,
    /// Shadow locations checked: how often one of FastTrack's rules for a location fired.
    pub checks: u64,
    /// The same for each access.
    pub checks_per_access: f64,
    /// How often each rule of the detector fired.
    pub rules: BTreeMap<&'static str, u64>,
    /// The shadow of arrays, for detectors that compress it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<Shadow>,
}

/// How well the shadow of arrays was compressed.
#[derive(Clone, Debug, Serialize)]
pub struct Shadow {
    /// Elements of all arrays there were.
    pub elements: u64,
    /// Their shadow locations.
    pub locations: u64,
    /// Locations for each element.
    pub fraction: f64,
    /// Array by array.
    pub arrays: Vec<ArrayShadow>,
}

/// The shadow of one array.
#[derive(Clone, Debug, Serialize)]
pub struct ArrayShadow {
    /// Its name, or its address; or of how many small or freed ones this tells.
    pub array: String,
    /// Its elements.
    pub elements: u64,
    /// Its shadow locations.
    pub locations: u64,
    /// Locations for each element.
    pub fraction: f64,
    /// Its final partition.
    pub partition: String,
}

/// `locations` for each element; an array without elements has no shadow.
pub(crate) fn fraction(locations: u64, elements: u64) -> f64 {
    if elements == 0 {
        0.0
    } else {
        locations as f64 / elements as f64
    }
}
