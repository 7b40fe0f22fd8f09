//! Atomic operations: what they order (`sync::atomic`) and the access that each of them is.

use event::{AccessKind, Addr, Site};

use super::{Precise, PreciseThread, Shadow};
use crate::detector::{AtomicOp, Sink};
use crate::shadow::{Rule, RuleName};
use crate::sync::{Bracket, HappensBefore};

impl<R: Rule> Precise<R> {
    #[inline(always)]
    pub(super) fn atomic(
        &self,
        thread: &mut PreciseThread,
        bracket: &mut Bracket<'_>,
        (size, op): (u32, AtomicOp),
        site: Site,
        races: Sink<'_>,
    ) {
        let (order, bytes) = (&self.order, (bracket.addr(), u64::from(size)));
        let kind = match op {
            AtomicOp::Load(_) => AccessKind::Read,
            // An atomic write races with all that an atomic read races with.
            AtomicOp::Store(_) | AtomicOp::Rmw(_) => AccessKind::Write,
        };
        let operation = order.begin_atomic(&mut thread.clock, bracket, size, op);
        if operation.stands() {
            thread.counts.add(RuleName::AtomicRepeated);
        } else {
            self.shadow
                .atomic_bytes(order, thread, kind, bytes, site, races);
        }
        order.end_atomic(&mut thread.clock, operation);
    }
}

impl<R: Rule> Shadow<R> {
    /// The checking half of an atomic access.
    #[inline(always)]
    pub(crate) fn atomic_bytes(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        kind: AccessKind,
        (addr, len): (Addr, u64),
        site: Site,
        races: Sink<'_>,
    ) {
        let word = self.word(addr, len as u32);
        // Nearly always it is an object that was operated on before, from a site that was, too.
        if let Some((location, mask)) = word
            && let Some(number) = thread.clock.recent_number(site)
            && let Some(raced) =
                self.touch_in_block(order, thread, location, (kind, mask, true), number)
        {
            if raced.0 {
                let work = &mut self.work(order, thread, kind, site);
                work.atomic = true;
                work.report(Addr(addr.0 & !7), races);
            }
            return;
        }
        self.atomic_anew(order, thread, kind, (addr, len), site, races);
    }

    #[inline(never)]
    fn atomic_anew(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        kind: AccessKind,
        (addr, len): (Addr, u64),
        site: Site,
        races: Sink<'_>,
    ) {
        let mut work = self.work(order, thread, kind, site);
        work.atomic = true;
        match self.word(addr, len as u32) {
            Some((location, mask)) => work.slow(location, Addr(addr.0 & !7), mask, races),
            None => work.bytes(addr, len, races),
        }
    }
}
