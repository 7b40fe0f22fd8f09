//! Atomic objects that the thread was lent (`engine::sync::lent`): a table of the last ones, by address.

use alloc::boxed::Box;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use engine::clock::ThreadClock;
use engine::shadow::{MixedAt, Timeless};
use engine::sync::Effect;
use engine::sync::lent::Lent;
use engine::sync::quick::{self, Repeats};
use event::AccessKind;

use crate::site::SiteKey;

/// An object that was lent.
#[derive(Clone, Copy, Debug)]
pub struct Loan {
    /// Where it is.
    pub address: usize,
    lent: Lent,
    /// Where its time is.
    pub time: &'static AtomicU32,
    bias: &'static AtomicU64,
    remembered: u64,
    last: Option<Last>,
}

/// The access of the last operation that was not made again. As long as the thread has the object, it is in the slot in which the site has its number.
#[derive(Clone, Copy, Debug)]
struct Last {
    mixed: MixedAt<'static>,
    key: SiteKey,
    kind: AccessKind,
    access: Timeless,
}

impl Loan {
    /// What may be done without a bracket next, after a release into the object.
    #[inline(always)]
    pub fn repeats(&self) -> Repeats<'static> {
        Repeats {
            which: quick::RELEASE,
            bias: self.bias,
            remembered: self.remembered,
            lent: None,
        }
    }

    /// An access of this kind at that site, if the last one was such: where it is recorded, and as what.
    #[inline(always)]
    pub fn again(&self, key: SiteKey, kind: AccessKind) -> Option<(MixedAt<'static>, Timeless)> {
        let last = self.last.as_ref()?;
        (last.key == key && last.kind == kind).then_some((last.mixed, last.access))
    }

    /// Remembers an access; unless its place is not one where it is easy to make it again, or its site is unknown.
    pub fn remember(
        &mut self,
        mixed: Option<MixedAt<'static>>,
        key: SiteKey,
        kind: AccessKind,
        access: Timeless,
    ) {
        self.last = mixed.filter(|_| key.0 != 0).map(|mixed| Last {
            mixed,
            key,
            kind,
            access,
        });
    }
}

/// The objects that were lent last, each in the [place](abi::hot::place) of its address; no places before the first, for most threads are never lent one, nor is any with a detector
/// that lends nothing.
#[derive(Debug)]
pub struct Loans(Box<[Option<Loan>]>);

impl Loans {
    /// Nothing was lent yet.
    pub fn new() -> Loans {
        Loans(Box::default())
    }

    /// The object at `address`.
    #[inline(always)]
    pub fn at(&mut self, address: usize) -> Option<&mut Loan> {
        let loan = self.0.get_mut(abi::hot::place(address))?.as_mut();
        loan.filter(|loan| loan.address == address)
    }

    /// Was it lent to the thread, is it still, and does it admit the operation? Asked by who says already that it is within one.
    #[inline(always)]
    pub fn admit(&self, clock: &ThreadClock, address: usize, size: u32, effect: Effect) -> bool {
        let loan = self.0.get(abi::hot::place(address));
        loan.and_then(Option::as_ref).is_some_and(|loan| {
            loan.address == address
                && loan.lent.admits(clock, size, effect)
                // Acquire: the operation comes after what was done before the bias became this.
                && loan.bias.load(Ordering::Acquire) == loan.remembered
        })
    }

    /// The object at `address` was lent, with what else `repeats` says; its time is there.
    pub fn note(&mut self, address: usize, repeats: Repeats<'static>, time: &'static AtomicU32) {
        let loan = repeats.lent.map(|lent| Loan {
            address,
            lent,
            time,
            bias: repeats.bias,
            remembered: repeats.remembered,
            last: None,
        });
        if self.0.is_empty() {
            if loan.is_none() {
                return;
            }
            // Never on the stack, which may be small.
            self.0 = alloc::vec![None; abi::hot::ATOMICS].into();
        }
        self.0[abi::hot::place(address)] = loan;
    }
}
