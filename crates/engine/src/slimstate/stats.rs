//! What became of the arrays: how far each one's shadow was compressed.

use crate::detector::{BlockShadow, Detector};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use event::Site;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// The arrays of one allocation site.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SiteSummary {
    /// How many.
    pub blocks: u64,
    /// Elements of all of them.
    pub elements: u64,
    /// Shadow locations of all of them.
    pub locations: u64,
    /// How many ended in each kind of partition: `BLOCK`, `FINE`, …
    pub partitions: BTreeMap<String, u64>,
}

impl SiteSummary {
    fn add(&mut self, block: &BlockShadow) {
        self.blocks += block.blocks;
        self.elements += block.elements;
        self.locations += block.locations;
        *self
            .partitions
            .entry(kind(&block.partition).into())
            .or_default() += block.blocks;
    }

    /// Array shadow locations as a fraction of array elements: the figure of Table II. 0 without arrays.
    pub fn shadow_fraction(&self) -> f64 {
        if self.elements == 0 {
            0.0
        } else {
            self.locations as f64 / self.elements as f64
        }
    }
}

fn kind(partition: &str) -> &str {
    partition.split('(').next().unwrap_or_default()
}

/// All arrays of an execution, those of the past included.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// All together.
    pub total: SiteSummary,
    /// By allocation site.
    pub sites: BTreeMap<Site, SiteSummary>,
}

impl Summary {
    /// What the detector has to tell now.
    pub fn of(detector: &impl Detector) -> Self {
        let mut all = Summary::default();
        detector.shadow(&mut |block| {
            all.total.add(block);
            all.sites.entry(block.site).or_default().add(block);
        });
        all
    }
}

/// Arrays of the past that are kept one by one; of the others only sums are.
const KEPT: usize = 64;

/// Arrays that exist no more, or are plain memory by now.
#[derive(Clone, Debug, Default)]
pub(super) struct Retired {
    kept: Vec<BlockShadow>,
    others: HashMap<(Site, &'static str), BlockShadow, FxBuildHasher>,
}

impl Retired {
    /// One more, whose partition is of that kind; `describe` says more, if somebody wants to know.
    pub(super) fn add(
        &mut self,
        (site, kind): (Site, &'static str),
        (elements, locations): (u64, u64),
        describe: impl FnOnce() -> BlockShadow,
    ) {
        if self.kept.len() < KEPT {
            return self.kept.push(describe());
        }
        match self.others.get_mut(&(site, kind)) {
            Some(sum) => {
                sum.blocks += 1;
                sum.elements += elements;
                sum.locations += locations;
            }
            None => {
                let partition = kind.into();
                let block = BlockShadow {
                    partition,
                    ..describe()
                };
                self.others.insert((site, kind), block);
            }
        }
    }

    pub(super) fn each(&self, f: &mut dyn FnMut(&BlockShadow)) {
        let mut others: Vec<_> = self.others.iter().collect();
        others.sort_unstable_by_key(|&(key, _)| *key);
        let others = others.into_iter().map(|(_, sum)| sum);
        self.kept.iter().chain(others).for_each(f);
    }
}
