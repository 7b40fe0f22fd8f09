//! The last write and the last read of each field of a word: what FastTrack remembers of a variable, side by side.
//!
//! ```text
//! fields of four bytes, in a Half       write read  write read       32 bytes
//! fields of two bytes, in a Block       write read  … 4 times        64 bytes
//! fields of one byte, in a Double       write read  … 8 times       128 bytes
//! ```
//!
//! Words with several fields, accessed in many epochs and mostly by one thread, are what programs with small locks have most of. An access looks at its own fields only and needs no room
//! of others, so it costs the same however many there are, and no site has to be put together with another's. What does not fit (readers that are not ordered, smaller
//! fields) goes elsewhere: [`Fields::touch`] does nothing then.
//!
//! Each cell has the bytes of its field, and no others.
//!
//! **Who may touch what.** As with a [`Block`]: only who has the location locked.

use alloc::vec::Vec;
use core::mem::offset_of;

use event::AccessKind;

use super::block::Block;
use super::cell::{Cell, Room};
use super::depot::Depot;
use super::fit::conflict;
use super::location::Conflict;
use super::pool::{FIRST_BIT, Pool, Pooled};
use super::rule::Rule;
use super::stats::RuleName;
use crate::clock::ThreadClock;
use crate::lock::{AtomicU64, Ordering};

/// Room for fields of four bytes: half a line of the cache.
#[derive(Debug, Default)]
#[cfg_attr(not(loom), derive(bytemuck::Zeroable))]
#[repr(C, align(32))]
pub(super) struct Half {
    cells: [AtomicU64; 4],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Half>() == 32);

impl Pooled for Half {
    fn first(&self) -> &AtomicU64 {
        &self.cells[0]
    }
}

impl Half {
    #[inline(always)]
    pub(super) fn fields(&self) -> Fields<'_, 2> {
        Fields::of(&self.cells)
    }
}

/// Room for fields of one byte: two lines of the cache.
#[derive(Debug, Default)]
#[cfg_attr(not(loom), derive(bytemuck::Zeroable))]
#[repr(C, align(64))]
pub(super) struct Double {
    cells: [AtomicU64; 16],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Double>() == 128);

impl Pooled for Double {
    fn first(&self) -> &AtomicU64 {
        &self.cells[0]
    }
}

impl Double {
    #[inline(always)]
    pub(super) fn fields(&self) -> Fields<'_, 8> {
        Fields::of(&self.cells)
    }
}

impl Block {
    /// As one that has fields.
    #[inline(always)]
    pub(super) fn fields(&self) -> Fields<'_, 4> {
        Fields::of(&self.cells)
    }
}

/// The last accesses to each of `N` fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a, const N: usize>(&'a [Field; N]);

/// The last write of a field and the last read, in one line of the cache.
type Field = [AtomicU64; 2];
const WRITE: usize = 0;
const READ: usize = 1;

impl Room {
    /// Calls `f` with each access to the fields that are here.
    pub(super) fn each(self, depot: &Depot, f: impl FnMut(Cell)) {
        match self {
            Room::Half(of) => depot.halves.get(of.index).fields().each(f),
            Room::Block(of) => depot.blocks.get(of.index).fields().each(f),
            Room::Double(of) => depot.doubles.get(of.index).fields().each(f),
        }
    }

    /// See [`Fields::touch`].
    #[inline(always)]
    pub(super) fn touch<R: Rule>(
        self,
        depot: &Depot,
        me: &ThreadClock,
        access: Cell,
        out: &mut Vec<Conflict>,
    ) -> Option<(RuleName, Kept)> {
        match self {
            Room::Half(of) => {
                let fields = depot.halves.get(of.index).fields();
                fields.touch::<R>(me, access, out)
            }
            Room::Block(of) => {
                let fields = depot.blocks.get(of.index).fields();
                fields.touch::<R>(me, access, out)
            }
            Room::Double(of) => {
                let fields = depot.doubles.get(of.index).fields();
                fields.touch::<R>(me, access, out)
            }
        }
    }

    /// Nobody needs the fields any more.
    pub(super) fn give(self, depot: &Depot) {
        match self {
            Room::Half(of) => depot.halves.give([of.next()]),
            Room::Block(of) => depot.blocks.give([of.next()]),
            Room::Double(of) => depot.doubles.give([of.next()]),
        }
    }
}

/// Where a stub finds the fields of a location, by its first cell:
///
/// ```text
/// the last TAG_BITS          TAG
/// from INDEX_SHIFT           which room, two bits; the index in its pool
/// origin + index * size      the room: by the last bit of the index, or FIRST_BIT, the origin is in the Depot, at `origins`
/// + field * 16               the field's last write, its last read
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rooms;

impl Rooms {
    /// How many bits of a first cell say that there are fields.
    pub const TAG_BITS: u32 = Cell::LIFE_SHIFT;
    /// What they are.
    pub const TAG: u64 = Cell::FIELDS;
    /// Where the bits begin that say which room.
    pub const WHICH_SHIFT: u32 = Cell::INDEX_SHIFT;
    /// Where the index begins, at their end.
    pub const INDEX_SHIFT: u32 = Cell::INDEX_SHIFT + Room::BITS;
    /// What an index smaller than that counts as.
    pub const FIRST: usize = 1 << FIRST_BIT;
    /// What is in the first cell while somebody has the fields.
    pub const LOCKED: u64 = Cell::LOCKED.0;

    /// The bits of the room for fields of so many bytes.
    pub const fn which(bytes: u32) -> u32 {
        Room::which(bytes)
    }

    /// How many bytes such a room has, as a power of two.
    pub const fn size_shift(bytes: u32) -> u32 {
        let size = match bytes {
            2 => size_of::<Block>(),
            1 => size_of::<Double>(),
            _ => size_of::<Half>(),
        };
        size.ilog2()
    }

    /// Where its origins are in the [`Depot`].
    pub const fn origins(bytes: u32) -> usize {
        match bytes {
            2 => offset_of!(Depot, blocks) + Pool::<Block>::ORIGINS,
            1 => offset_of!(Depot, doubles) + Pool::<Double>::ORIGINS,
            _ => offset_of!(Depot, halves) + Pool::<Half>::ORIGINS,
        }
    }
}

/// What an access left of the fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kept {
    /// What they are for.
    Fields,
    /// This access alone.
    One(Cell),
}

#[inline(always)]
fn get(cell: &AtomicU64) -> Cell {
    Cell(cell.load(Ordering::Relaxed))
}

#[inline(always)]
fn set(cell: &AtomicU64, to: Cell) {
    cell.store(to.0, Ordering::Relaxed);
}

impl<'a, const N: usize> Fields<'a, N> {
    /// How many bytes a field has.
    const BYTES: usize = 8 / N;

    #[inline(always)]
    fn of(cells: &'a [AtomicU64]) -> Fields<'a, N> {
        let (fields, _) = cells.as_chunks();
        Fields(fields.try_into().expect("twice as many cells as fields"))
    }

    /// Are these the bytes of whole fields?
    #[inline(always)]
    pub(super) const fn fits(mask: u8) -> bool {
        match N {
            8 => true,
            4 => (mask ^ mask >> 1) & 0x55 == 0,
            _ => matches!(mask, 0x0F | 0xF0 | 0xFF),
        }
    }

    /// The bytes of a field.
    #[inline(always)]
    const fn bytes(at: usize) -> u8 {
        (((1u32 << Self::BYTES) - 1) << (at * Self::BYTES)) as u8
    }

    /// The first field of these bytes.
    #[inline(always)]
    const fn first(mask: u8) -> usize {
        mask.trailing_zeros() as usize / Self::BYTES % N
    }

    /// Replaces all by these plain accesses: one of a kind for each field.
    pub(super) fn load(&self, cells: &[Cell]) {
        for cell in self.0.as_flattened() {
            set(cell, Cell::EMPTY);
        }
        for access in cells.iter().filter(|cell| !cell.is_empty()) {
            debug_assert!(Self::fits(access.mask()));
            let kind = if access.is_write() { WRITE } else { READ };
            let mut rest = access.mask();
            while rest != 0 {
                let at = Self::first(rest);
                set(&self.0[at][kind], access.only(Self::bytes(at)));
                rest &= !Self::bytes(at);
            }
        }
    }

    /// Calls `f` with each access.
    pub(super) fn each(&self, mut f: impl FnMut(Cell)) {
        for kind in [WRITE, READ] {
            let mut last = Cell::EMPTY;
            for cell in self.0.iter().map(|field| get(&field[kind])) {
                match last.merged(cell) {
                    Some(both) => last = both,
                    None => {
                        if !last.is_empty() {
                            f(last);
                        }
                        last = cell;
                    }
                }
            }
            if !last.is_empty() {
                f(last);
            }
        }
    }

    /// Checks a plain access by `me` and remembers it, field by field. None if there is no room for all of it, at a second reader or at some bytes of a field: what was done until
    /// there is redundant when all is done elsewhere.
    #[inline(always)]
    pub(super) fn touch<R: Rule>(
        &self,
        me: &ThreadClock,
        access: Cell,
        out: &mut Vec<Conflict>,
    ) -> Option<(RuleName, Kept)> {
        if !Self::fits(access.mask()) {
            return None;
        }
        let raced = out.len();
        let mut needed = access.mask();
        let mut alone = needed == 0xFF && access.is_write();
        let mut rest = needed;
        // What the last field had, and whether the access was redundant there: fields side by side mostly have the same past, and then the same becomes of them.
        let (mut past, mut redundant) = ([Cell::EMPTY; 2], false);
        while rest != 0 {
            let at = Self::first(rest);
            let bytes = Self::bytes(at);
            rest &= !bytes;
            let field = &self.0[at];
            let (write, read) = (get(&field[WRITE]), get(&field[READ]));
            if !write.same_but_bytes(past[WRITE]) || !read.same_but_bytes(past[READ]) {
                redundant = subsumes::<R>(write, access) || subsumes::<R>(read, access);
                if !redundant && !meet::<R>(write, read, access, me, raced, out) {
                    return None;
                }
                // What races does so in each field.
                past = if out.len() == raced {
                    [write, read]
                } else {
                    [Cell::LOCKED; 2]
                };
            }
            if redundant {
                needed &= !bytes;
                continue;
            }
            if !access.is_write() {
                set(&field[READ], access.over(bytes));
                continue;
            }
            set(&field[WRITE], access.over(bytes));
            if R::supersedes(read, access, true) {
                set(&field[READ], Cell::EMPTY);
            } else {
                alone &= read.is_empty();
            }
        }
        let rule = match access.kind() {
            kind if needed == 0 => RuleName::same_epoch(kind),
            AccessKind::Read => RuleName::ReadExclusive,
            AccessKind::Write => RuleName::WriteExclusive,
        };
        let kept = if alone && needed == 0xFF {
            Kept::One(access)
        } else {
            Kept::Fields
        };
        Some((rule, kept))
    }
}

/// Holds a plain access by `me` against what a field has. False if there is no room for it beside: it reads, and so does another that is not ordered before it.
#[inline(never)]
fn meet<R: Rule>(
    write: Cell,
    read: Cell,
    access: Cell,
    me: &ThreadClock,
    raced: usize,
    out: &mut Vec<Conflict>,
) -> bool {
    let (same, other) = if access.is_write() {
        (write, read)
    } else {
        (read, write)
    };
    if !same.is_empty() {
        let ordered = is_ordered(same, access, me);
        if !R::supersedes(same, access, ordered) {
            return false;
        }
        if !ordered && access.is_write() {
            race(same, raced, out);
        }
    }
    if !other.is_empty() && !is_ordered(other, access, me) {
        race(other, raced, out);
    }
    true
}

/// Does `old` make `new` redundant?
#[inline(always)]
fn subsumes<R: Rule>(old: Cell, new: Cell) -> bool {
    old.same_epoch(new) && R::subsumes(old, new)
}

/// Did `old` happen before `new`, which `me` makes?
#[inline(always)]
fn is_ordered(old: Cell, new: Cell, me: &ThreadClock) -> bool {
    old.slot() == new.slot() || me.covers(old.slot(), old.time())
}

/// A race with `old`, of an access that had none before the `raced`th; it is one with that of another field if it is the same access.
#[cold]
#[inline(never)]
fn race(old: Cell, raced: usize, out: &mut Vec<Conflict>) {
    let same = out[raced..]
        .iter_mut()
        .find_map(|before| Some((before.old.merged(old)?, before)));
    match same {
        Some((both, before)) => {
            before.old = both;
            before.mask |= old.mask();
        }
        None => conflict(out, old, false, old.mask()),
    }
}
