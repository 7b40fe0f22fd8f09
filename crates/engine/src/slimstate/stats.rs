//! What became of the arrays: how far each one's shadow was compressed.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use event::{Addr, Site};

/// One array, as it is now or was at its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrayInfo {
    /// First byte.
    pub addr: Addr,
    /// Who allocated it.
    pub site: Site,
    /// How many elements, of the size that accesses asked for.
    pub elements: u64,
    /// Bytes in an element.
    pub elem: u64,
    /// Its last partition, as `BLOCK(4)`.
    pub partition: String,
    /// Shadow locations: the number of parts.
    pub locations: u64,
    /// Does it no longer exist?
    pub freed: bool,
}

/// The arrays of one allocation site.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SiteInfo {
    /// How many.
    pub arrays: u64,
    /// Elements of all of them.
    pub elements: u64,
    /// Shadow locations of all of them.
    pub locations: u64,
    /// How many ended in each kind of partition: `BLOCK`, `FINE`, …
    pub partitions: BTreeMap<String, u64>,
}

impl SiteInfo {
    /// Counts one more array.
    pub fn add(&mut self, array: &ArrayInfo) {
        self.arrays += 1;
        self.elements += array.elements;
        self.locations += array.locations;
        let kind = array.partition.split('(').next().unwrap_or_default();
        *self.partitions.entry(kind.into()).or_default() += 1;
    }

    /// Adds up.
    pub fn merge(&mut self, other: &SiteInfo) {
        self.arrays += other.arrays;
        self.elements += other.elements;
        self.locations += other.locations;
        for (kind, count) in &other.partitions {
            *self.partitions.entry(kind.clone()).or_default() += count;
        }
    }
}

/// All arrays, those of the past included.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// By allocation site.
    pub sites: BTreeMap<Site, SiteInfo>,
    /// Blocks below the threshold, which are FINE from the start.
    pub small: SiteInfo,
}

impl Summary {
    /// All sites, and the small blocks, together.
    pub fn total(&self) -> SiteInfo {
        let mut total = self.small.clone();
        self.sites.values().for_each(|site| total.merge(site));
        total
    }

    /// Array shadow locations as a fraction of array elements: the figure of Table II. 0 without arrays.
    pub fn shadow_fraction(&self) -> f64 {
        let total = self.total();
        if total.elements == 0 {
            0.0
        } else {
            total.locations as f64 / total.elements as f64
        }
    }
}

/// Arrays of the past that are kept one by one; of the others only sums are.
const KEPT: usize = 64;

/// Arrays that exist no more.
#[derive(Clone, Debug, Default)]
pub(super) struct Retired {
    kept: Vec<ArrayInfo>,
    pub(super) summary: Summary,
}

impl Retired {
    pub(super) fn add(&mut self, array: ArrayInfo) {
        self.summary
            .sites
            .entry(array.site)
            .or_default()
            .add(&array);
        if self.kept.len() < KEPT {
            self.kept.push(array);
        }
    }

    pub(super) fn each(&self, f: &mut dyn FnMut(&ArrayInfo)) {
        self.kept.iter().for_each(f);
    }
}
