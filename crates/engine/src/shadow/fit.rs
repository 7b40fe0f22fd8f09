//! What becomes of two inline cells by a plain access: FastTrack's rules where a location has room for all that it remembers.

use alloc::vec::Vec;

use super::cell::Cell;
use super::location::Conflict;
use super::rule::Rule;
use super::stats::RuleName;
use crate::clock::{Slots, ThreadClock};

/// What two inline cells become by the plain access `access`, which is recorded or not, and by which rule; nothing if two cells are
/// not enough. `race` is told of each access that races with it, and on which bytes.
#[inline(always)]
pub(super) fn fit<R: Rule>(
    old: [Cell; 2],
    access: Cell,
    record: bool,
    me: &mut ThreadClock,
    slots: &Slots,
    mut race: impl FnMut(Cell, u8),
) -> Option<([Cell; 2], RuleName)> {
    // The most frequent cases: what is remembered is of other epochs and ordered before, and either gives way or stays as it is.
    if record
        && let Some(first) = pass::<R>(old[0], access, me)
        && let Some(second) = pass::<R>(old[1], access, me)
        && (first.is_empty() || second.is_empty())
    {
        let stays = if first.is_empty() { second } else { first };
        let rule = rule_inline(access, access, [stays, Cell::EMPTY]);
        let cells = if stays.is_empty() {
            [access, Cell::EMPTY]
        } else {
            [stays, access]
        };
        return Some((cells, rule));
    }
    let mut new = access;
    let a = step::<R>(old[0], &mut new, me, &mut race);
    let b = step::<R>(old[1], &mut new, me, &mut race);
    let (a, b) = if a.is_empty() { (b, a) } else { (a, b) };
    let rule = rule_inline(access, new, [a, b]);
    let new = if record { new } else { Cell::EMPTY };
    let cells = if new.is_empty() {
        [a, b]
    } else if a.is_empty() {
        [new, b]
    } else if let Some(merged) = merge(a, new, me, slots) {
        [merged, b]
    } else if b.is_empty() {
        [a, new]
    } else {
        [a, merge(b, new, me, slots)?]
    };
    Some((cells, rule))
}

/// What is left of `old` once `new` is recorded, if it is of another epoch and ordered before, and that is all or nothing of it. What stays is not merged with `new`, whose epoch is not its own.
#[inline(always)]
fn pass<R: Rule>(old: Cell, new: Cell, me: &ThreadClock) -> Option<Cell> {
    if old.is_empty() {
        return Some(Cell::EMPTY);
    }
    if old.same_epoch(new) || !me.covers(old.slot(), old.time()) {
        return None;
    }
    if !R::supersedes(old, new, true) {
        return Some(old);
    }
    old.only(!new.mask()).is_empty().then_some(Cell::EMPTY)
}

/// One cell for two accesses by `me` that differ in nothing but their bytes and sites.
#[inline(always)]
pub(super) fn merge(old: Cell, new: Cell, me: &mut ThreadClock, slots: &Slots) -> Option<Cell> {
    if !old.same_but_site(new) {
        return None;
    }
    if let Some(merged) = old.merged(new) {
        return Some(merged);
    }
    debug_assert!(
        old.mask() & new.mask() == 0,
        "what is recorded is not recorded again"
    );
    let number = me.compose(slots, old.site(), new.site(), new.mask())?;
    Some(old.with(new.mask()).named(number))
}

/// Holds `new` against one remembered plain access. Returns what is left of `old`; what of `new` needs no record is
/// taken from it.
#[inline(always)]
pub(super) fn step<R: Rule>(
    old: Cell,
    new: &mut Cell,
    me: &ThreadClock,
    race: &mut impl FnMut(Cell, u8),
) -> Cell {
    step_if::<R>(old, new, || me.covers(old.slot(), old.time()), race)
}

/// The same for who knows otherwise whether `old` is `ordered` before `new`.
#[inline(always)]
pub(super) fn step_if<R: Rule>(
    old: Cell,
    new: &mut Cell,
    ordered: impl FnOnce() -> bool,
    race: &mut impl FnMut(Cell, u8),
) -> Cell {
    let shared = old.mask() & new.mask();
    if shared == 0 {
        return old;
    }
    if old.same_epoch(*new) && R::subsumes(old, *new) {
        *new = new.without(shared);
        return old;
    }
    let ordered = ordered();
    if !ordered && (old.is_write() || new.is_write()) {
        race(old, shared);
    }
    if R::supersedes(old, *new, ordered) {
        old.without(shared)
    } else {
        old
    }
}

#[cold]
pub(super) fn conflict(out: &mut Vec<Conflict>, old: Cell, atomic: bool, mask: u8) {
    out.push(Conflict { old, atomic, mask });
}

/// Which of FastTrack's rules was that? `left`: what of the access still needs a record; `kept`: what is
/// remembered beside it.
#[inline(always)]
fn rule_inline(access: Cell, left: Cell, kept: [Cell; 2]) -> RuleName {
    if access.is_write() {
        if left.is_empty() {
            RuleName::WriteSameEpoch
        } else {
            RuleName::WriteExclusive
        }
    } else if left.is_empty() {
        RuleName::ReadSameEpoch
    } else if kept
        .iter()
        .any(|old| !old.is_write() && old.mask() & left.mask() != 0)
    {
        RuleName::ReadShare
    } else {
        RuleName::ReadExclusive
    }
}

/// What a word, or the words of a lane, had and got by an access: others that have the same get the same by the same access, for what was ordered before
/// it is so for the rest of its epoch, and what was not and did not race is kept. Neighbours mostly do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Like {
    access: Cell,
    old: [Cell; 2],
    new: [Cell; 2],
    rule: RuleName,
}

impl Like {
    /// No word yet.
    pub(crate) const NONE: Like = Like {
        access: Cell::EMPTY,
        old: [Cell::EMPTY; 2],
        new: [Cell::EMPTY; 2],
        rule: RuleName::Unsampled,
    };

    /// Is it about this access?
    #[inline(always)]
    pub(crate) fn is_of(&self, access: Cell) -> bool {
        self.access == access
    }

    /// By which rule.
    #[inline(always)]
    pub(crate) fn rule(&self) -> RuleName {
        self.rule
    }

    /// What these cells become by the access.
    #[inline(always)]
    pub(super) fn becomes(&self, old: [Cell; 2]) -> Option<[Cell; 2]> {
        (self.old == old).then_some(self.new)
    }

    /// What these cells become by this access, if it is the one.
    #[inline(always)]
    pub(crate) fn again(&self, old: [Cell; 2], access: Cell) -> Option<[Cell; 2]> {
        self.is_of(access).then(|| self.becomes(old)).flatten()
    }
}

/// What inline cells become by the plain access `cell`, which is recorded, where that is easy: they stay inline, and there is no race. `like` is what the
/// same access did elsewhere.
#[inline(always)]
pub(crate) fn fit_like<R: Rule>(
    old: [Cell; 2],
    cell: Cell,
    me: &mut ThreadClock,
    slots: &Slots,
    like: &mut Like,
) -> Option<[Cell; 2]> {
    match like.again(old, cell) {
        None => fit_anew::<R>(old, cell, me, slots, like),
        new => new,
    }
}

/// The same where it did something else.
#[inline(always)]
pub(crate) fn fit_anew<R: Rule>(
    old: [Cell; 2],
    cell: Cell,
    me: &mut ThreadClock,
    slots: &Slots,
    like: &mut Like,
) -> Option<[Cell; 2]> {
    if !old[0].is_inline() {
        return None;
    }
    let mut raced = false;
    let (new, rule) = fit::<R>(old, cell, true, me, slots, |_, _| raced = true)?;
    if raced {
        return None;
    }
    *like = Like {
        access: cell,
        old,
        new,
        rule,
    };
    Some(new)
}
