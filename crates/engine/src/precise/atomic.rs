//! Atomic operations: what they order (`sync::atomic`) and the access that each of them is.

use event::{AccessKind, Addr, Site};

use super::{Precise, PreciseThread, Raced, Shadow};
use crate::detector::{Access, AtomicOp, Sink};
use crate::shadow::{Location, MixedAt, Rule, RuleName, Timeless};
use crate::sync::{Bracket, Effect, HappensBefore};

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
        let kind = Effect::of(op).kind();
        self.shadow.commit_all(order, thread, races);
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
    /// The checking half of an atomic access to the bytes of `mask` in the word of `location`, from the site that has this number in
    /// [`ThreadClock::numbering`](crate::clock::ThreadClock::numbering), where nearly always it is easy: that of an object that was operated on before. None if nothing was done. If there are
    /// races, who says so has to [`tell`](Shadow::tell_atomic) next.
    #[inline(always)]
    pub fn atomic_at(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        location: &Location,
        (kind, mask): (AccessKind, u8),
        number: u32,
    ) -> Option<Raced> {
        self.touch_in_block(order, thread, location, (kind, mask, true), number)
    }

    /// The same for who has found the location's block before, and knows the access but for its epoch.
    #[inline(always)]
    pub fn atomic_again(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        mixed: MixedAt<'_>,
        access: Timeless,
    ) -> Option<Raced> {
        let rule = mixed.touch::<R>(
            self.depot(),
            &mut thread.clock,
            order.slots(),
            &mut thread.memo,
            access,
            &mut thread.found,
        )?;
        thread.counts.add(rule);
        Some(Raced(!thread.found.is_empty()))
    }

    /// The block of the word at `addr`, if it has one with atomic accesses.
    pub fn mixed(&self, addr: Addr) -> Option<MixedAt<'_>> {
        self.split_location(addr)?.mixed(self.depot())
    }

    /// Tells of the races that the thread's last access, an atomic one, was found to have.
    #[cold]
    pub fn tell_atomic(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        access: Access,
        races: Sink<'_>,
    ) {
        let mut work = self.work(order, thread, access.kind, access.site);
        work.atomic = true;
        work.report(Addr(access.addr.0 & !7), races);
    }

    /// The checking half of an atomic access.
    #[inline(always)]
    pub fn atomic_bytes(
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
            && let Some(raced) = self.atomic_at(order, thread, location, (kind, mask), number)
        {
            if raced.0 {
                let access = Access {
                    kind,
                    addr,
                    size: len as u32,
                    site,
                };
                self.tell_atomic(order, thread, access, races);
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
