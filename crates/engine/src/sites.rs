//! From a [`Site`] to its number in the thread's slot.

use event::Site;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

const WAYS: usize = 64;
const NONE: u32 = u32::MAX;

/// A thread's own map from sites to the small numbers that cells hold; `Slots` has the way back.
#[derive(Debug)]
pub(crate) struct SiteCache {
    /// The last site with each remainder, and its number.
    recent: [(Site, u32); WAYS],
    all: HashMap<Site, u32, FxBuildHasher>,
}

impl SiteCache {
    pub(crate) const fn new() -> SiteCache {
        SiteCache {
            recent: [(Site(0), NONE); WAYS],
            all: HashMap::with_hasher(FxBuildHasher),
        }
    }

    #[inline]
    pub(crate) fn get(&mut self, site: Site) -> Option<u32> {
        let (recent, number) = self.recent[site.0 as usize % WAYS];
        if recent == site && number != NONE {
            return Some(number);
        }
        self.look_up(site)
    }

    #[cold]
    fn look_up(&mut self, site: Site) -> Option<u32> {
        let number = *self.all.get(&site)?;
        self.recent[site.0 as usize % WAYS] = (site, number);
        Some(number)
    }

    pub(crate) fn insert(&mut self, site: Site, number: u32) {
        self.all.insert(site, number);
        self.recent[site.0 as usize % WAYS] = (site, number);
    }

    pub(crate) fn clear(&mut self) {
        *self = SiteCache::new();
    }
}
