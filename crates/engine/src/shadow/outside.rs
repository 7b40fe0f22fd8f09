//! What a location does with a state that does not fit into it.
//!
//! | state | when |
//! |---|---|
//! | shared | several threads read the word, and other words have the same past |
//! | a [`Block`](super::block::Block) | up to eight plain accesses that nobody shares: several threads read the word at a time, in many epochs |
//! | [fields](super::fields::Fields) | the last write and the last read of each field |
//! | a block that is mixed | up to seven accesses, of which some are atomic |
//! | owned | more of them |

use alloc::vec::Vec;

use super::block::{Left, ROOM};
use super::cell::{Cell, Owned, Room};
use super::depot::Depot;
use super::extended::Extended;
use super::fields::Kept;
use super::location::{Conflict, Touch, Touched};
use super::memo::Memo;
use super::rule::Rule;
use super::stats::RuleName;
use crate::clock::{Slots, ThreadClock};

/// What the cells of a location become by an access of `me`, where they do not fit two accesses or will not.
#[cold]
#[inline(never)]
pub(super) fn touch_outside<R: Rule>(
    old: [Cell; 2],
    depot: &Depot,
    me: &mut ThreadClock,
    slots: &Slots,
    memo: &mut Memo,
    touch: Touch,
    out: &mut Vec<Conflict>,
) -> ([Cell; 2], Touched) {
    let plain = touch.record && !touch.atomic;
    let (touch, hint) = if plain {
        (touch.narrowed(old), hint(old, touch.cell))
    } else {
        (touch, Cell::EMPTY)
    };
    if let Some(block) = old[0].as_mixed() {
        return touch_mixed::<R>(old, block, depot, me, slots, memo, touch, out);
    }
    if let Some(room) = old[0].as_fields() {
        if plain && let Some(done) = touch_fields::<R>(old, room, depot, me, memo, touch, out) {
            return done;
        }
        return spread_fields::<R>(room, depot, me, slots, memo, touch, out);
    }
    if let Some(index) = old[0].as_owned() {
        let (touched, fits) = depot.with_owned(index, |extended| {
            let touched = extended.touch::<R>(me, slots, touch, out);
            (touched, extended.fits())
        });
        let new = if fits {
            store(depot, depot.disown(index))
        } else {
            if plain && me.records_all() {
                memo.settled.settle(depot, old[0], hint);
            }
            // After an atomic access there is no hint: the next plain write must end its release sequence, in whichever epoch.
            [old[0], hint]
        };
        return (new, touched);
    }
    if let Some(block) = old[0].as_block() {
        if touch.atomic {
            memo.scratch.load_block(depot.blocks.get(block.index));
            memo.give_block(depot, block);
            let touched = memo.scratch.touch::<R>(me, slots, touch, out);
            return (memo.store(depot), touched);
        }
        return touch_block::<R>(old, block, depot, me, slots, memo, touch, out);
    }
    let shared = is_read_by_two(old, touch.cell);
    if plain
        && old[0].is_inline()
        && !shared
        && let Some(done) = make_fields::<R>(old, depot, me, memo, touch, out)
    {
        return done;
    }
    if plain && old[0].is_inline() && !(shared && memo.hopes()) {
        let block = memo.take_block(depot, &old);
        let old = [Cell::block(block), Cell::EMPTY];
        return touch_block::<R>(old, block, depot, me, slots, memo, touch, out);
    }
    let old = if old[0].is_inline() {
        old
    } else {
        [old[0], Cell::EMPTY]
    };
    if plain && let Some((new, rule)) = memo.again(depot, old, touch.cell, me.knowledge(), hint) {
        let touched = Touched {
            rule,
            overwritten: 0,
        };
        return (hinted(new, hint), touched);
    }
    load(depot, old, &mut memo.scratch);
    let raced = out.len();
    let touched = memo.scratch.touch::<R>(me, slots, touch, out);
    let new = memo.store(depot);
    if plain && out.len() == raced {
        let common = new[0].is_inline() || new[0].as_shared().is_some();
        if common || me.records_all() {
            memo.settled.settle(depot, new[0], hint);
        }
        if common {
            memo.remember(depot, old, touch.cell, me.knowledge(), new, touched.rule);
        }
    }
    if let Some(index) = old[0].as_shared() {
        depot.let_go(index, 1);
    }
    (hinted(new, hint), touched)
}

/// The same for a plain access to a shared state, which is recorded, if the thread has made this step before. Otherwise nothing is done.
#[inline(always)]
pub(super) fn touch_shared(
    old: [Cell; 2],
    depot: &Depot,
    me: &ThreadClock,
    memo: &mut Memo,
    touch: Touch,
) -> Option<([Cell; 2], Touched)> {
    let (before, hint) = ([old[0], Cell::EMPTY], hint(old, touch.cell));
    let (new, rule) = memo.again(depot, before, touch.cell, me.knowledge(), hint)?;
    let touched = Touched {
        rule,
        overwritten: 0,
    };
    Some((hinted(new, hint), touched))
}

/// The same for a plain access to fields, which is recorded; nothing is done if there is no room for it.
#[inline(always)]
pub(super) fn touch_fields<R: Rule>(
    old: [Cell; 2],
    room: Room,
    depot: &Depot,
    me: &mut ThreadClock,
    memo: &mut Memo,
    touch: Touch,
    out: &mut Vec<Conflict>,
) -> Option<([Cell; 2], Touched)> {
    let (rule, kept) = room.touch::<R>(depot, me, touch.cell, out)?;
    let new = match kept {
        // It was recorded already, and the hint is about something else of the epoch: one field is read and the next is written, again and again. The one stays in the hint, and the other is in the
        // table from now on.
        Kept::Fields
            if rule == RuleName::same_epoch(touch.cell.kind())
                && old[1].same_epoch(touch.cell)
                && me.records_all() =>
        {
            memo.settled.settle(depot, old[0], touch.cell);
            old
        }
        Kept::Fields => {
            // Where somebody else has been since, the hint will not stay long.
            if old[1].slot() != touch.cell.slot() && me.records_all() {
                memo.settled.settle(depot, old[0], touch.cell);
            }
            [old[0], hint(old, touch.cell)]
        }
        Kept::One(access) => {
            memo.give_fields(depot, room);
            [access, Cell::EMPTY]
        }
    };
    let touched = Touched {
        rule,
        overwritten: 0,
    };
    Some((new, touched))
}

/// The same for inline cells of which the accesses are fields from now on.
#[inline(never)]
fn make_fields<R: Rule>(
    old: [Cell; 2],
    depot: &Depot,
    me: &mut ThreadClock,
    memo: &mut Memo,
    touch: Touch,
    out: &mut Vec<Conflict>,
) -> Option<([Cell; 2], Touched)> {
    let room = memo.take_fields(depot, &old, touch.cell.mask())?;
    let old = [Cell::fields(room), Cell::EMPTY];
    let done = touch_fields::<R>(old, room, depot, me, memo, touch, out);
    if done.is_none() {
        memo.give_fields(depot, room);
    }
    done
}

/// Another state in place of fields, for an access that has no room there.
#[cold]
#[inline(never)]
fn spread_fields<R: Rule>(
    room: Room,
    depot: &Depot,
    me: &mut ThreadClock,
    slots: &Slots,
    memo: &mut Memo,
    touch: Touch,
    out: &mut Vec<Conflict>,
) -> ([Cell; 2], Touched) {
    memo.scratch.load_fields(depot, room);
    memo.give_fields(depot, room);
    let touched = memo.scratch.touch::<R>(me, slots, touch, out);
    (memo.store(depot), touched)
}

/// The same for a plain access to a state in a block.
#[inline(always)]
#[allow(
    clippy::too_many_arguments,
    reason = "a step takes what the thread, its slot and the depot know; a struct for it would be built at each"
)]
pub(super) fn touch_block<R: Rule>(
    old: [Cell; 2],
    owned: Owned,
    depot: &Depot,
    me: &mut ThreadClock,
    slots: &Slots,
    memo: &mut Memo,
    touch: Touch,
    out: &mut Vec<Conflict>,
) -> ([Cell; 2], Touched) {
    let block = depot.blocks.get(owned.index);
    let (rule, left) = block.touch::<R>(me, slots, touch.cell, touch.record, ROOM, out);
    let new = match left {
        Left::Some if touch.record => {
            // Where somebody else has been since, the hint will not stay long.
            if old[1].slot() != touch.cell.slot() && me.records_all() {
                memo.settled.settle(depot, old[0], touch.cell);
            }
            [old[0], hint(old, touch.cell)]
        }
        Left::Some => [old[0], Cell::EMPTY],
        Left::Few(cells) => {
            memo.give_block(depot, owned);
            cells
        }
        Left::More(access) => replace_block(owned, depot, memo, access),
    };
    let touched = Touched {
        rule,
        overwritten: 0,
    };
    (new, touched)
}

/// Another state in place of a block, with an access that had no room there.
#[cold]
#[inline(never)]
fn replace_block(owned: Owned, depot: &Depot, memo: &mut Memo, more: Cell) -> [Cell; 2] {
    memo.scratch.load_block(depot.blocks.get(owned.index));
    memo.scratch.insert(more, false);
    memo.give_block(depot, owned);
    memo.store(depot)
}

/// The same for a state in a block that is mixed.
#[inline(always)]
#[allow(
    clippy::too_many_arguments,
    reason = "a step takes what the thread, its slot and the depot know; a struct for it would be built at each"
)]
pub(super) fn touch_mixed<R: Rule>(
    old: [Cell; 2],
    owned: Owned,
    depot: &Depot,
    me: &mut ThreadClock,
    slots: &Slots,
    memo: &mut Memo,
    touch: Touch,
    out: &mut Vec<Conflict>,
) -> ([Cell; 2], Touched) {
    let block = depot.blocks.get(owned.index);
    if !touch.atomic {
        return touch_beside::<R>(old, owned, depot, me, slots, memo, touch, out);
    }
    let touched = Touched {
        rule: RuleName::atomic(touch.cell.kind()),
        overwritten: 0,
    };
    let left = block.touch_atomic::<R>(me, slots, touch.cell, touch.record, out);
    (atomic_left(old[0], left, depot, memo), touched)
}

/// The cells of a location with the mixed block `first` after an atomic access, which there was no room for if it is `left`.
#[inline(always)]
pub(super) fn atomic_left(
    first: Cell,
    left: Option<Cell>,
    depot: &Depot,
    memo: &mut Memo,
) -> [Cell; 2] {
    match (left, first.as_mixed()) {
        (Some(access), Some(owned)) => replace_mixed(owned, depot, memo, Some((access, true))),
        // No hint: the next plain write must end the release sequence, in whichever epoch.
        _ => [first, Cell::EMPTY],
    }
}

/// The same for a plain access.
#[inline(never)]
#[allow(
    clippy::too_many_arguments,
    reason = "a step takes what the thread, its slot and the depot know; a struct for it would be built at each"
)]
fn touch_beside<R: Rule>(
    old: [Cell; 2],
    owned: Owned,
    depot: &Depot,
    me: &mut ThreadClock,
    slots: &Slots,
    memo: &mut Memo,
    touch: Touch,
    out: &mut Vec<Conflict>,
) -> ([Cell; 2], Touched) {
    let block = depot.blocks.get(owned.index);
    let (touched, left) = block.touch_plain::<R>(me, slots, touch.cell, touch.record, out);
    let new = match left {
        Some(Left::More(access)) => replace_mixed(owned, depot, memo, Some((access, false))),
        None => replace_mixed(owned, depot, memo, None),
        Some(_) if touch.record => {
            if me.records_all() {
                memo.settled.settle(depot, old[0], touch.cell);
            }
            [old[0], hint(old, touch.cell)]
        }
        Some(_) => [old[0], Cell::EMPTY],
    };
    (new, touched)
}

/// Another state in place of a mixed block, with an access that had no room there, if there is one. True if that is atomic.
#[cold]
fn replace_mixed(
    owned: Owned,
    depot: &Depot,
    memo: &mut Memo,
    more: Option<(Cell, bool)>,
) -> [Cell; 2] {
    memo.scratch.load_mixed(depot.blocks.get(owned.index));
    if let Some((access, atomic)) = more {
        memo.scratch.insert(access, atomic);
    }
    memo.give_block(depot, owned);
    memo.store(depot)
}

/// Will two threads be among the readers once `access` is recorded? Then there may be more locations with this past: one that is read by several at a time is seldom alone.
fn is_read_by_two(old: [Cell; 2], access: Cell) -> bool {
    let [a, b] = old.map(|cell| !cell.is_empty() && !cell.is_write());
    let read = !access.is_write();
    let [slot_a, slot_b] = old.map(Cell::slot);
    a && b && slot_a != slot_b
        || read && (a && slot_a != access.slot() || b && slot_b != access.slot())
}

/// What a location that is not inline may hold in its second cell once `access` is recorded: that access, with the bytes of the
/// hint before if it was of the same epoch. True of the state, so that the same-epoch test may rely on it.
#[inline(always)]
fn hint(old: [Cell; 2], access: Cell) -> Cell {
    let before = old[1];
    if !old[0].is_inline() && before.same_epoch(access) && (before.is_write() || !access.is_write())
    {
        access.with(before.mask())
    } else {
        access
    }
}

/// The cells of a location, with `hint` beside a state that is not inline.
fn hinted(cells: [Cell; 2], hint: Cell) -> [Cell; 2] {
    if cells[0].is_inline() {
        cells
    } else {
        [cells[0], hint]
    }
}

/// What they become when the bytes of `mask` are made fresh, and those of atomic objects among them.
#[inline(never)]
pub(super) fn clear_outside(depot: &Depot, old: [Cell; 2], mask: u8) -> ([Cell; 2], u8) {
    if mask == 0xFF
        && let Some(block) = old[0].as_block()
    {
        depot.blocks.give([block.next()]);
        return ([Cell::EMPTY; 2], 0);
    }
    if mask == 0xFF
        && let Some(block) = old[0].as_mixed()
    {
        let overwritten = depot.blocks.get(block.index).objects(mask);
        depot.blocks.give([block.next()]);
        return ([Cell::EMPTY; 2], overwritten);
    }
    if mask == 0xFF
        && let Some(room) = old[0].as_fields()
    {
        room.give(depot);
        return ([Cell::EMPTY; 2], 0);
    }
    if let Some(mut extended) = disown(depot, old[0]) {
        let overwritten = extended.clear(mask);
        return (store(depot, extended), overwritten);
    }
    let mut extended = Extended::default();
    load(depot, old, &mut extended);
    extended.clear(mask);
    let new = store(depot, extended);
    if let Some(index) = old[0].as_shared() {
        depot.let_go(index, 1);
    }
    (new, 0)
}

/// The same state in cells that may be copied, if each copy holds what is [`shared`](Cell::as_shared): plain accesses that
/// belong to the location alone become such.
pub(super) fn shareable(depot: &Depot, cells: [Cell; 2]) -> [Cell; 2] {
    match disown(depot, cells[0]) {
        Some(extended) => store(depot, extended),
        None => cells,
    }
}

/// The location of these cells is gone.
pub(super) fn discard(depot: &Depot, cells: [Cell; 2]) {
    if let Some(index) = cells[0].as_shared() {
        depot.let_go(index, 1);
    } else {
        disown(depot, cells[0]);
    }
}

/// Gives up what belongs to the location with this first cell alone, if that is a state outside.
pub(super) fn disown(depot: &Depot, first: Cell) -> Option<Extended> {
    if let Some(block) = first.as_block() {
        let mut extended = Extended::default();
        extended.load_block(depot.blocks.get(block.index));
        depot.blocks.give([block.next()]);
        return Some(extended);
    }
    if let Some(block) = first.as_mixed() {
        let mut extended = Extended::default();
        extended.load_mixed(depot.blocks.get(block.index));
        depot.blocks.give([block.next()]);
        return Some(extended);
    }
    if let Some(room) = first.as_fields() {
        let mut extended = Extended::default();
        extended.load_fields(depot, room);
        room.give(depot);
        return Some(extended);
    }
    Some(depot.disown(first.as_owned()?))
}

/// Writes a state that is not owned into `extended`.
pub(super) fn load(depot: &Depot, cells: [Cell; 2], extended: &mut Extended) {
    match cells[0].as_shared() {
        Some(index) => extended.load(&depot.cells(index)),
        None => {
            extended.load(&[]);
            for cell in cells {
                extended.insert(cell, false);
            }
        }
    }
}

/// The cells of a location with these plain accesses: two of them inline, more outside.
pub(super) fn outside(depot: &Depot, flat: &[Cell]) -> [Cell; 2] {
    inline(flat).unwrap_or_else(|| [Cell::shared(depot.intern(flat, 1)), Cell::EMPTY])
}

/// The cells of a location with these plain accesses, if they fit.
pub(super) fn inline(flat: &[Cell]) -> Option<[Cell; 2]> {
    match *flat {
        [] => Some([Cell::EMPTY; 2]),
        [a] => Some([a, Cell::EMPTY]),
        [a, b] => Some([a, b]),
        _ => None,
    }
}

/// The cells of a location in this state.
pub(super) fn store(depot: &Depot, extended: Extended) -> [Cell; 2] {
    let mut flat = Vec::new();
    if extended.flatten(&mut flat) {
        return outside(depot, &flat);
    }
    if extended.fits_mixed() {
        let block = depot.blocks.take();
        extended.store_mixed(depot.blocks.get(block.index));
        return [Cell::mixed(block), Cell::EMPTY];
    }
    [Cell::owned(depot.own(extended)), Cell::EMPTY]
}
