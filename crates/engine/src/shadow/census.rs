//! How many locations stand for a block's bytes: SlimState's shadow fraction, of a shadow that knows no blocks.

use event::Addr;

use super::memory::{Form, Memory};
use super::pages::{ADDRESSES, PAGE_BYTES, word_of};

/// The locations of some bytes, by the form of the pages that they are on. One that stands for bytes of a neighbour, too, is counted for both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Census {
    /// Of pages that have one location; none if nothing ever happened to the page.
    pub pages: u64,
    /// Lanes of pages with runs.
    pub runs: u64,
    /// Layers of pages that have some.
    pub layers: u64,
    /// Words of pages that are split, touched or not.
    pub words: u64,
}

impl Census {
    /// All of them.
    pub const fn locations(&self) -> u64 {
        self.pages + self.runs + self.layers + self.words
    }

    /// The most detailed form that there is.
    pub const fn kind(&self) -> &'static str {
        match (self.words, self.layers, self.runs) {
            (0, 0, 0) => "PAGES",
            (0, 0, _) => "RUNS",
            (0, _, _) => "LAYERS",
            _ => "WORDS",
        }
    }
}

impl Memory {
    /// The locations that `bytes` bytes from `addr` on have now.
    pub fn census(&self, addr: Addr, bytes: u64) -> Census {
        let mut census = Census::default();
        let end = addr.0.saturating_add(bytes).min(ADDRESSES);
        let mut at = addr.0;
        while at < end {
            if let Some(untouched) = self.untouched_until(Addr(at)) {
                at = untouched.0;
                continue;
            }
            let next = (at / PAGE_BYTES + 1) * PAGE_BYTES;
            let last = next.min(end) - 1;
            let words = word_of(Addr(at)) as u16..=word_of(Addr(last)) as u16;
            if let Some(whole) = self.touched(Addr(at)) {
                match self.form(Addr(at), whole) {
                    Some(Form::Whole(_)) => census.pages += 1,
                    Some(Form::Runs(mut page)) => census.runs += page.runs().lanes_in(words),
                    Some(Form::Layers(page)) => census.layers += page.layers.len() as u64,
                    None => census.words += words.count() as u64,
                }
            }
            at = next;
        }
        census
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detector::{Access, Detector};
    use crate::precise::FastTrack;
    use event::{AccessKind, Elements, Site, Tid};

    const BASE: u64 = 1 << 20;

    #[test]
    fn locations_are_counted_by_the_forms_of_pages() {
        let detector = FastTrack::default();
        let mut thread = detector.root(Tid(0));
        let count = |bytes| detector.shadow().census(Addr(BASE), bytes);
        assert_eq!(count(8 * PAGE_BYTES), Census::default());
        let words = |lo, hi| Elements {
            base: Addr(BASE),
            elem: 8,
            lo,
            hi,
            stride: 1,
        };
        let mut write = |elements| {
            let kind = AccessKind::Write;
            detector.range(&mut thread, kind, elements, Site(1), &mut |_| {});
        };
        // Two whole pages, and most of a third.
        write(words(0, 1024 + 400));
        let ranges = count(4 * PAGE_BYTES);
        assert_eq!((ranges.pages, ranges.words), (2, 0));
        assert_eq!((ranges.runs, ranges.kind()), (2, "RUNS"));
        // What lies within one run is one location, wherever it begins.
        let within = detector
            .shadow()
            .census(Addr(BASE + 2 * PAGE_BYTES + 80), 800);
        assert_eq!(within.locations(), 1);
        let access = Access {
            kind: AccessKind::Write,
            addr: Addr(BASE + 5 * PAGE_BYTES),
            size: 1,
            site: Site(1),
        };
        detector.access(&mut thread, access, &mut |_| {});
        let word = detector.shadow().census(access.addr, 24);
        assert_eq!((word.words, word.kind()), (3, "WORDS"));
    }
}
