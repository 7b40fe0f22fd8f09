//! Memory that is given back, and given out anew: what happened to it before is forgotten then.

use event::{AccessKind, Addr, Site};

use super::{PreciseThread, Shadow, Work};
use crate::detector::Sink;
use crate::shadow::{Location, PAGE_BYTES, Page, Rule, Span, Sweeps};
use crate::sync::HappensBefore;

impl<R: Rule> Work<'_, R> {
    /// Words of a split page.
    fn span(&mut self, page: &Page<Location>, span: Span, races: Sink<'_>) {
        let base = Addr(span.addr.0 & !(PAGE_BYTES - 1));
        self.words(page, base, &Sweeps::of(span), races);
    }
}

impl<R: Rule> Shadow<R> {
    /// The write that freeing `len` bytes is.
    pub fn free(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        (addr, len): (Addr, u64),
        site: Site,
        races: Sink<'_>,
    ) {
        let mut work = self.work(order, thread, AccessKind::Write, site).numbered();
        // A small block, mostly.
        match self.split_span(addr, len) {
            Some((page, span)) => work.span(page, span, races),
            None => work.bytes(addr, len, races),
        }
    }

    /// Makes `len` bytes at `addr` fresh. Memory that was never touched costs next to nothing, however much it is.
    pub fn clear(&self, order: &HappensBefore, addr: Addr, len: u64) {
        // A small block, mostly.
        if let Some((page, span)) = self.split_span(addr, len) {
            self.clear_words(order, page, span);
            return self.memory.renewed(addr, len);
        }
        let end = addr.0.saturating_add(len);
        let mut at = addr;
        while at.0 < end {
            match self.memory.untouched_until(at) {
                Some(next) => at = next,
                None => {
                    let Some(span) = Span::cut(at, end - at.0).next() else {
                        break;
                    };
                    self.clear_span(order, span);
                    at = Addr(at.0 + span.len);
                }
            }
        }
        self.memory.renewed(addr, len);
    }

    fn clear_span(&self, order: &HappensBefore, span: Span) {
        if let Some(page) = self.clear_together(span) {
            self.clear_words(order, page, span);
        }
    }

    /// The bytes, if they are in one page and that is split.
    #[inline]
    pub(super) fn split_span(&self, addr: Addr, len: u64) -> Option<(&Page<Location>, Span)> {
        if len == 0 || len > PAGE_BYTES - addr.0 % PAGE_BYTES {
            return None;
        }
        Some((self.memory.page(addr)?, Span { addr, len }))
    }

    fn clear_words(&self, order: &HappensBefore, page: &Page<Location>, span: Span) {
        let sweeps = Sweeps::of(span);
        self.memory.bury(span.addr, page, &sweeps);
        for sweep in sweeps.as_slice() {
            let mut words = sweep.words();
            // Most are whole, and remember two accesses at most.
            while let Some(word) = match sweep.mask {
                0xFF => words.find(|&word| !page[word].clear_inline()),
                _ => words.next(),
            } {
                let overwritten = page[word].clear(self.depot(), sweep.mask);
                if overwritten != 0 {
                    let base = span.addr.0 & !(PAGE_BYTES - 1);
                    order.overwrite(Addr(base + 8 * word as u64), overwritten);
                }
            }
        }
    }
}
