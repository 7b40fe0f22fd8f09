//! The table of detectors: a new one is a new line here, and everything else (the command line, the
//! tests that compare with the oracle, the figures) finds it.

use engine::literace::LiteRace;
use engine::pacer::Pacer;
use engine::rex::{Locks, OwnThread, Rex, Trie};
use engine::slimstate::{SlimState, SlimStateBb, SlimStateBf, SlimStateBp};
use engine::{Detector, Djit, FastTrack};
use std::fmt;

/// What a detector can be told.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// Pacer: the share of the execution to look at, 0 to 1. Without it, the marks in the trace say when.
    pub rate: Option<f64>,
    /// Samplers: where their choices come from.
    pub seed: u64,
    /// SlimState: arrays with fewer elements are FINE from the start.
    pub small_array: u64,
    /// What a page with runs, or layers, may spend on accesses in detail before it is split, see [`engine::shadow::Memory::with_runs`].
    pub run_credit: i32,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            rate: None,
            seed: 0,
            small_array: 16,
            run_credit: 0,
        }
    }
}

/// What a detector promises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    /// Every byte that races, and no other.
    Exact,
    /// No byte that does not race; the same as `Exact` at rate 1.
    Sampled,
    /// No byte that does not race.
    Sound,
}

/// What only some detectors can be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// [`Options::rate`].
    Rate,
    /// [`Options::seed`].
    Seed,
}

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name to ask for.
    pub name: &'static str,
    /// What it promises.
    pub promise: Promise,
    /// What it can be told.
    pub takes: &'static [Choice],
    /// What it is.
    pub about: &'static str,
}

/// Something to do with a detector of whatever type.
pub trait Visitor {
    /// What comes out.
    type Output;
    /// Does it.
    fn visit<D: Detector + 'static>(self, detector: D) -> Self::Output;
}

/// There is no detector of this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unknown(pub String);

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = DETECTORS.iter().map(|entry| entry.name).collect();
        write!(
            f,
            "there is no detector `{}`; there are: {}",
            self.0,
            names.join(" ")
        )
    }
}

impl std::error::Error for Unknown {}

/// The detectors that can be told this.
pub fn that_take(choice: Choice) -> impl Iterator<Item = &'static str> {
    let taking = DETECTORS
        .iter()
        .filter(move |entry| entry.takes.contains(&choice));
    taking.map(|entry| entry.name)
}

/// Does it sample at a rate?
pub fn samples(name: &str) -> bool {
    that_take(Choice::Rate).any(|sampler| sampler == name)
}

fn slim(options: &Options) -> engine::slimstate::Options {
    engine::slimstate::Options {
        small: options.small_array,
        ..Default::default()
    }
}

macro_rules! table {
    ($($name:literal, $promise:ident, [$($choice:ident)*], |$options:pat_param| $make:expr, $about:literal;)*) => {
        /// All detectors.
        pub const DETECTORS: &[Entry] = &[$(
            Entry { name: $name, promise: Promise::$promise, takes: &[$(Choice::$choice),*], about: $about },
        )*];

        /// Makes the detector `name` and does something with it.
        pub fn with<V: Visitor>(name: &str, options: &Options, visitor: V) -> Result<V::Output, Unknown> {
            match name {
                $($name => {
                    let $options = options;
                    Ok(visitor.visit($make))
                })*
                _ => Err(Unknown(name.to_string())),
            }
        }
    };
}

table! {
    "djit", Exact, [], |o| Djit::default().with_runs(o.run_credit),
        "vector clocks for reads and writes (Pacer's GENERIC)";
    "fasttrack", Exact, [], |o| FastTrack::default().with_runs(o.run_credit),
        "epochs, and vectors for concurrent reads";
    "layers", Exact, [], |o| FastTrack::default().with_layers(o.run_credit),
        "fasttrack whose checks wait, page by page, until the thread synchronises";
    "slimstate", Exact, [], |o| SlimState::new(slim(o)),
        "footprints of arrays as strided ranges, compressed array shadows";
    "slimstate-bf", Exact, [], |o| SlimStateBf::new(slim(o)),
        "the same with bit-set footprints";
    "slimstate-bp", Exact, [], |o| SlimStateBp::new(slim(o)),
        "the same with bit-set partitions";
    "slimstate-bb", Exact, [], |o| SlimStateBb::new(slim(o)),
        "the same with both";
    "rex", Exact, [], |_| Rex::new(FastTrack::default(), OwnThread::new(Locks::Order)),
        "fasttrack without the accesses that a thread repeats before it releases";
    "rex-paper", Sound, [], |_| Rex::new(FastTrack::default(), Trie::new(Locks::Order)),
        "fasttrack behind the filter as published: may miss races";
    "rex-lockset", Sound, [], |_| Rex::new(FastTrack::default(), OwnThread::new(Locks::Held)),
        "the same across locks, if the same ones are held: may miss races";
    "pacer", Sampled, [Rate Seed], |o| Pacer::new(o.rate, o.seed),
        "fasttrack in sampling periods, by --rate and --seed or by marks in the trace";
    "literace", Sound, [Seed], |o| LiteRace::new(FastTrack::default(), o.seed),
        "fasttrack on functions that are new to a thread, and a sample of the others";
}
