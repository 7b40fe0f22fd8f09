//! One access in 64 bits.
//!
//! ```text
//!  63           45  44   43      36 35        20 19         0
//! ┌───────────────┬─────┬──────────┬────────────┬────────────┐
//! │ site number   │write│ bytes    │ slot       │ time       │   an access
//! ├───────────────┴─────┴──────────┴────────────┼────────────┤
//! │ 0                                           │ 0          │   EMPTY
//! │ 0                             … 1000        │ 0          │   LOCKED   (first cell only)
//! │ index in the pool of `Room` (63..35), life (34..23), 001 │ FIELDS   (first cell only)
//! │ index in the `Depot` (63..35), life (34..23), 010 │ 0    │   OWNED    (first cell only)
//! │ index in the `Depot` (63..35), 0            , 011 │ 0    │   SHARED   (first cell only)
//! │ index of a `Block`   (63..35), life (34..23), 110 │ 0    │   BLOCK    (first cell only)
//! │ index of a `Block`   (63..35), life (34..23), 111 │ 0    │   MIXED    (first cell only)
//! │ 0                             …  0100       │ 0          │   SPLIT    (first cell of a page only)
//! │ index in `RunPages`  (63..32) …  0101       │ 0          │   RUNS     (first cell of a page only)
//! │ index in `LayerPages` (63..32) … 1101       │ 0          │   LAYERS   (first cell of a page only)
//! └─────────────────────────────────────────────┴────────────┘
//! ```
//!
//! Times of accesses are never 0, which tells the last ten apart from accesses.

use event::AccessKind;

use crate::clock::{Slot, Time};

const TIME: u64 = (1 << 20) - 1;
const SLOT_SHIFT: u32 = 20;
const EPOCH: u64 = (1 << 36) - 1;
const MASK_SHIFT: u32 = 36;
const WRITE: u64 = 1 << 44;
const SITE_SHIFT: u32 = 45;
const MASK: u64 = 0xFF << MASK_SHIFT;
const _: () = assert!(EPOCH.trailing_ones() == MASK_SHIFT && WRITE == 1 << (MASK_SHIFT + 8));

/// A slot's epoch, in the shape of a cell that covers every byte with a write: what a same-epoch test
/// compares with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Epoch(u64);

impl Epoch {
    /// Equal to no epoch that is ever recorded.
    pub const NEVER: Epoch = Epoch(EPOCH | MASK | WRITE);

    /// Epoch `time` of `slot`.
    pub const fn new(slot: Slot, time: Time) -> Epoch {
        debug_assert!(0 < time.0 && (time.0 as u64) < TIME);
        Epoch(Epoch::bits_of(slot, time) | MASK | WRITE)
    }

    /// The bits of a slot's epoch in a cell, at its end; …
    pub const BITS: u32 = MASK_SHIFT;
    /// … and where among them those of the slot begin.
    pub const SLOT_SHIFT: u32 = SLOT_SHIFT;

    /// These bits alone.
    #[inline(always)]
    pub(super) const fn bits_of(slot: Slot, time: Time) -> u64 {
        (slot.0 as u64) << SLOT_SHIFT | time.0 as u64
    }

    /// The epoch of accesses of `slot` that are not recorded: equal to none that is, so that no access is taken for a repetition of it.
    pub const fn unrecorded(slot: Slot) -> Epoch {
        Epoch((slot.0 as u64) << SLOT_SHIFT | TIME | MASK | WRITE)
    }

    /// The epoch with these [`bits`](Epoch::bits).
    #[inline(always)]
    pub const fn from_bits(bits: u64) -> Epoch {
        Epoch(bits)
    }

    /// The bits: a cell of this epoch, with all bytes and the write bit set and no site.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

/// What a same-epoch test asks of a cell: bits in which it must not differ from the thread's [`Epoch`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked(u64);

impl Asked {
    /// Where the bytes are in a cell, for stubs; below are slot and time, above is the bit of a write.
    pub const BYTES_SHIFT: u32 = MASK_SHIFT;

    /// An access of this kind to the bytes of `mask`.
    #[inline(always)]
    pub const fn new(kind: AccessKind, mask: u8) -> Asked {
        Asked::bits(kind, (mask as u64) << MASK_SHIFT)
    }

    /// An access of this kind to `size` bytes at `address`, all of them in one word. (In wide arithmetic, which is two instructions
    /// less than making a mask of eight bits first.)
    #[inline(always)]
    pub const fn within(kind: AccessKind, address: usize, size: u32) -> Asked {
        // An aligned word needs no shift by a variable.
        let offset = if size == 8 { 0 } else { address % 8 };
        debug_assert!(offset + size as usize <= 8);
        Asked::bits(kind, (((1 << size) - 1) << MASK_SHIFT) << offset)
    }

    #[inline(always)]
    const fn bits(kind: AccessKind, mask: u64) -> Asked {
        Asked(match kind {
            AccessKind::Read => EPOCH | mask,
            AccessKind::Write => EPOCH | WRITE | mask,
        })
    }
}

/// The largest index in the `Depot`.
pub(super) const MAX_INDEX: u32 = (1 << 29) - 1;
/// How often an index may be used for a state that is owned, less one.
pub(super) const MAX_LIFE: u32 = (1 << 12) - 1;

/// A state in the `Depot`, or a block there, that one location owns: no two that ever were have the same name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Owned {
    pub(super) index: u32,
    /// The how-manieth owned state it is that has the index.
    pub(super) life: u32,
}

impl Owned {
    /// The state is gone: what has the index next.
    pub(super) const fn next(self) -> Owned {
        Owned {
            index: self.index,
            life: self.life + 1,
        }
    }

    const fn bits(self) -> u64 {
        debug_assert!(self.index <= MAX_INDEX && self.life <= MAX_LIFE);
        (self.index as u64) << Cell::INDEX_SHIFT | (self.life as u64) << Cell::LIFE_SHIFT
    }
}

/// Where fields are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Room {
    /// Of four bytes.
    Half(Owned),
    /// Of two.
    Block(Owned),
    /// Of one.
    Double(Owned),
}

impl Room {
    /// Bits of an index that say which.
    pub(super) const BITS: u32 = 2;

    /// These bits, for fields of so many bytes.
    pub(super) const fn which(bytes: u32) -> u32 {
        match bytes {
            2 => 0,
            1 => 1,
            _ => 2,
        }
    }
}

/// An access as the shadow remembers it, or one of the special values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Cell(pub(super) u64);

/// An access but for its epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeless(u64);

impl Timeless {
    /// An access to the bytes of `mask`, from the site with that number.
    pub const fn new(kind: AccessKind, mask: u8, site: u32) -> Timeless {
        Timeless(Cell::new(Epoch(0), kind, mask, site).0)
    }

    /// The access at `epoch`.
    #[inline(always)]
    pub(super) const fn at(self, epoch: Epoch) -> Cell {
        Cell(self.0 | epoch.0 & EPOCH)
    }
}

impl Cell {
    /// Where in a cell the number of its site begins; the bit below is that of a write.
    pub const SITE_SHIFT: u32 = SITE_SHIFT;
    /// Bits of which an access has some, and no other value has any.
    pub const ACCESS: u64 = TIME;

    pub(super) const EMPTY: Cell = Cell(0);
    pub(super) const LOCKED: Cell = Cell(1 << Cell::LIFE_SHIFT);
    pub(super) const SPLIT: Cell = Cell(4 << SLOT_SHIFT);
    pub(super) const FIELDS: u64 = 1 << SLOT_SHIFT;
    const OWNED: u64 = 2 << SLOT_SHIFT;
    const SHARED: u64 = 3 << SLOT_SHIFT;
    const RUNS: u64 = 5 << SLOT_SHIFT;
    const LAYERS: u64 = 13 << SLOT_SHIFT;
    const BLOCK: u64 = 6 << SLOT_SHIFT;
    const MIXED: u64 = 7 << SLOT_SHIFT;
    const TAG: u64 = (1 << 32) - 1;
    /// Of FIELDS, OWNED, SHARED, BLOCK and MIXED.
    pub(super) const LIFE_SHIFT: u32 = 23;
    const OUTSIDE_TAG: u64 = (1 << Self::LIFE_SHIFT) - 1;
    /// Where the index of a state outside begins.
    pub(super) const INDEX_SHIFT: u32 = 35;

    /// An access to the bytes of `mask` at `epoch`, from the site with that number.
    #[inline]
    pub const fn new(epoch: Epoch, kind: AccessKind, mask: u8, site: u32) -> Cell {
        let write = match kind {
            AccessKind::Read => 0,
            AccessKind::Write => WRITE,
        };
        Cell((epoch.0 & EPOCH) | (mask as u64) << MASK_SHIFT | write | (site as u64) << SITE_SHIFT)
    }

    pub(super) const fn owned(of: Owned) -> Cell {
        Cell(Self::OWNED | of.bits())
    }

    pub(super) const fn block(of: Owned) -> Cell {
        Cell(Self::BLOCK | of.bits())
    }

    /// A block with atomic accesses.
    pub(super) const fn mixed(of: Owned) -> Cell {
        Cell(Self::MIXED | of.bits())
    }

    /// Fields.
    pub(super) const fn fields(of: Room) -> Cell {
        let (of, bytes) = match of {
            Room::Half(of) => (of, 4),
            Room::Block(of) => (of, 2),
            Room::Double(of) => (of, 1),
        };
        let index = of.index << Room::BITS | Room::which(bytes);
        Cell(Self::FIELDS | Owned { index, ..of }.bits())
    }

    pub(super) const fn shared(index: u32) -> Cell {
        debug_assert!(index <= MAX_INDEX);
        Cell(Self::SHARED | (index as u64) << Self::INDEX_SHIFT)
    }

    #[inline(always)]
    pub(super) const fn as_owned(self) -> Option<u32> {
        if self.0 & Self::OUTSIDE_TAG == Self::OWNED {
            Some((self.0 >> Self::INDEX_SHIFT) as u32)
        } else {
            None
        }
    }

    #[inline(always)]
    pub(super) const fn as_block(self) -> Option<Owned> {
        self.named_as(Self::BLOCK)
    }

    #[inline(always)]
    pub(super) const fn as_mixed(self) -> Option<Owned> {
        self.named_as(Self::MIXED)
    }

    #[inline(always)]
    pub(super) const fn as_fields(self) -> Option<Room> {
        match self.named_as(Self::FIELDS) {
            Some(Owned { index, life }) => {
                let of = Owned {
                    index: index >> Room::BITS,
                    life,
                };
                Some(match index & ((1 << Room::BITS) - 1) {
                    0 => Room::Block(of),
                    1 => Room::Double(of),
                    _ => Room::Half(of),
                })
            }
            None => None,
        }
    }

    #[inline(always)]
    const fn named_as(self, tag: u64) -> Option<Owned> {
        if self.0 & Self::OUTSIDE_TAG == tag {
            Some(Owned {
                index: (self.0 >> Self::INDEX_SHIFT) as u32,
                life: (self.0 >> Self::LIFE_SHIFT) as u32 & MAX_LIFE,
            })
        } else {
            None
        }
    }

    #[inline(always)]
    pub(super) const fn as_shared(self) -> Option<u32> {
        if self.0 & Self::OUTSIDE_TAG == Self::SHARED {
            Some((self.0 >> Self::INDEX_SHIFT) as u32)
        } else {
            None
        }
    }

    pub(super) const fn runs(index: u32) -> Cell {
        Cell(Self::RUNS | (index as u64) << 32)
    }

    pub(super) const fn as_runs(self) -> Option<u32> {
        if self.0 & Self::TAG == Self::RUNS {
            Some((self.0 >> 32) as u32)
        } else {
            None
        }
    }

    pub(super) const fn layers(index: u32) -> Cell {
        Cell(Self::LAYERS | (index as u64) << 32)
    }

    pub(super) const fn as_layers(self) -> Option<u32> {
        if self.0 & Self::TAG == Self::LAYERS {
            Some((self.0 >> 32) as u32)
        } else {
            None
        }
    }

    /// As the first cell of a page's location, while that is not locked: is the page whole?
    #[inline]
    pub(super) const fn is_whole(self) -> bool {
        let tag = self.0 & Self::TAG;
        self.0 != Self::SPLIT.0 && tag != Self::RUNS && tag != Self::LAYERS
    }

    /// Is it an access or nothing, and not a special value?
    #[inline(always)]
    pub(super) const fn is_inline(self) -> bool {
        self.0 & TIME != 0 || self.0 == 0
    }

    /// Is it the first cell of a location whose plain accesses are all outside, and no others: FIELDS, SHARED or BLOCK?
    #[inline(always)]
    pub(super) const fn is_plain_outside(self) -> bool {
        let tag = self.0 & Self::OUTSIDE_TAG;
        tag == Self::FIELDS || tag == Self::SHARED || tag == Self::BLOCK
    }

    /// Do the two differ in nothing but their bytes?
    #[inline(always)]
    pub(super) const fn same_but_bytes(self, other: Cell) -> bool {
        (self.0 ^ other.0) & !MASK == 0
    }

    /// Is it an access?
    #[inline(always)]
    pub(super) const fn is_access(self) -> bool {
        self.0 & Self::ACCESS != 0
    }

    /// The slot that made the access.
    pub const fn slot(self) -> Slot {
        Slot((self.0 >> SLOT_SHIFT) as u16)
    }

    /// When, in the slot's time.
    pub const fn time(self) -> Time {
        Time((self.0 & TIME) as u32)
    }

    /// Which bytes of the eight.
    pub const fn mask(self) -> u8 {
        (self.0 >> MASK_SHIFT) as u8
    }

    /// Does it write?
    pub const fn is_write(self) -> bool {
        self.0 & WRITE != 0
    }

    /// Read or write.
    pub const fn kind(self) -> AccessKind {
        if self.is_write() {
            AccessKind::Write
        } else {
            AccessKind::Read
        }
    }

    /// The site's number in the slot.
    pub const fn site(self) -> u32 {
        (self.0 >> SITE_SHIFT) as u32
    }

    /// The same access without the bytes of `mask`; [`Cell::EMPTY`] if none is left.
    #[inline]
    pub(super) const fn without(self, mask: u8) -> Cell {
        let rest = self.0 & !((mask as u64) << MASK_SHIFT);
        if rest & MASK == 0 {
            Cell::EMPTY
        } else {
            Cell(rest)
        }
    }

    /// The same access with the bytes of `mask` too.
    pub(super) const fn with(self, mask: u8) -> Cell {
        Cell(self.0 | (mask as u64) << MASK_SHIFT)
    }

    /// The same access with only the bytes of `mask`; [`Cell::EMPTY`] if none is left.
    pub(super) const fn only(self, mask: u8) -> Cell {
        self.without(!mask)
    }

    /// The same access to these bytes instead.
    #[inline(always)]
    pub(super) const fn over(self, mask: u8) -> Cell {
        Cell(self.0 & !MASK | (mask as u64) << MASK_SHIFT)
    }

    /// Is it nothing at all?
    #[inline]
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Are the two made by one slot in one epoch?
    #[inline]
    pub(super) const fn same_epoch(self, other: Cell) -> bool {
        (self.0 ^ other.0) & EPOCH == 0
    }

    /// Is `later` the same slot's access of the same kind to the same bytes, in another epoch?
    #[inline]
    pub(super) const fn is_renewed_by(self, later: Cell) -> bool {
        let differs = self.0 ^ later.0;
        differs & (EPOCH & !TIME | MASK | WRITE) == 0 && differs & TIME != 0
    }

    /// The two as one access, if they differ in nothing but their bytes.
    #[inline]
    pub(super) const fn merged(self, other: Cell) -> Option<Cell> {
        if (self.0 ^ other.0) & !MASK == 0 {
            Some(Cell(self.0 | other.0))
        } else {
            None
        }
    }

    /// Do the two differ in nothing but their bytes and sites?
    #[inline]
    pub(super) const fn same_but_site(self, other: Cell) -> bool {
        (self.0 ^ other.0) & (EPOCH | WRITE) == 0
    }

    /// The same bytes, read.
    pub(super) const fn read(self) -> Cell {
        Cell(self.0 & !WRITE)
    }

    /// The same access from the site with another number.
    #[inline]
    pub(super) const fn named(self, site: u32) -> Cell {
        Cell(self.0 & ((1 << SITE_SHIFT) - 1) | (site as u64) << SITE_SHIFT)
    }

    /// [`Cell::answers`] for what was asked.
    #[inline(always)]
    pub const fn gives(self, epoch: Epoch, asked: Asked) -> bool {
        (self.0 ^ epoch.0) & asked.0 == 0
    }

    /// Does this cell make an access by `epoch`'s thread to the bytes of `mask` redundant? True if the
    /// thread made an access in the same epoch to at least these bytes that was a write, or if `kind` is a read.
    ///
    /// Two instructions beyond the load: where the cell has what is asked for, `cell ^ epoch` is zero.
    #[inline(always)]
    pub const fn answers(self, epoch: Epoch, kind: AccessKind, mask: u8) -> bool {
        let answer = self.gives(epoch, Asked::new(kind, mask));
        debug_assert!(
            answer
                == (self.0 & EPOCH == epoch.0 & EPOCH
                    && self.mask() & mask == mask
                    && (matches!(kind, AccessKind::Read) || self.is_write()))
        );
        answer
    }
}

impl core::fmt::Debug for Cell {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.is_empty() {
            return f.write_str("EMPTY");
        }
        if *self == Cell::LOCKED {
            return f.write_str("LOCKED");
        }
        if *self == Cell::SPLIT {
            return f.write_str("SPLIT");
        }
        if let Some(index) = self.as_runs() {
            return write!(f, "RUNS({index})");
        }
        if let Some(index) = self.as_layers() {
            return write!(f, "LAYERS({index})");
        }
        if let Some(index) = self.as_owned() {
            return write!(f, "OWNED({index})");
        }
        if let Some(index) = self.as_shared() {
            return write!(f, "SHARED({index})");
        }
        if let Some(Owned { index, .. }) = self.as_block() {
            return write!(f, "BLOCK({index})");
        }
        if let Some(Owned { index, .. }) = self.as_mixed() {
            return write!(f, "MIXED({index})");
        }
        if let Some(room) = self.as_fields() {
            return write!(f, "FIELDS({room:?})");
        }
        let kind = if self.is_write() { 'W' } else { 'R' };
        write!(
            f,
            "{kind}[{:08b}]@{}:{} site {}",
            self.mask(),
            self.slot().0,
            self.time().0,
            self.site()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AccessKind::{Read, Write};

    #[test]
    fn fields_come_back() {
        for (slot, time, mask, site) in [
            (0, 1, 1, 0),
            (65535, (1 << 20) - 2, 0xFF, (1 << 19) - 1),
            (7, 3, 0x81, 5),
        ] {
            for kind in [Read, Write] {
                let cell = Cell::new(Epoch::new(Slot(slot), Time(time)), kind, mask, site);
                assert_eq!(
                    (cell.slot(), cell.time(), cell.mask()),
                    (Slot(slot), Time(time), mask)
                );
                assert_eq!(
                    (cell.site(), cell.kind(), cell.as_owned()),
                    (site, kind, None)
                );
                assert!(cell != Cell::EMPTY && cell != Cell::LOCKED);
            }
        }
        let last = Cell::owned(Owned {
            index: MAX_INDEX,
            life: MAX_LIFE,
        });
        assert_eq!((last.as_owned(), last.as_shared()), (Some(MAX_INDEX), None));
        let most = Owned {
            index: MAX_INDEX,
            life: MAX_LIFE,
        };
        let block = Cell::block(most);
        assert_eq!((block.as_block(), block.as_owned()), (Some(most), None));
        assert!(block.is_whole() && !block.is_inline() && last.as_block().is_none());
        let mixed = Cell::mixed(most);
        assert_eq!((mixed.as_mixed(), mixed.as_block()), (Some(most), None));
        assert!(mixed.is_whole() && !mixed.is_inline() && block.as_mixed().is_none());
        assert!(last.is_whole() && last.as_runs().is_none());
        assert_eq!(Cell::shared(MAX_INDEX).as_shared(), Some(MAX_INDEX));
        assert_eq!(Cell::shared(7).as_shared(), Some(7));
        assert_eq!(Cell::shared(7).as_owned(), None);
        assert_eq!(Cell::EMPTY.as_owned(), None);
        let (runs, layers) = (Cell::runs(u32::MAX), Cell::layers(u32::MAX));
        assert_eq!((runs.as_runs(), runs.as_layers()), (Some(u32::MAX), None));
        assert_eq!(
            (layers.as_runs(), layers.as_layers()),
            (None, Some(u32::MAX))
        );
        assert!(!runs.is_whole() && !layers.is_whole() && !layers.is_inline());
        assert!(
            layers.as_owned().is_none()
                && layers.as_fields().is_none()
                && layers.as_shared().is_none()
        );
        assert_eq!(Cell::LOCKED.as_shared(), None);
        assert!(Cell::EMPTY.is_inline() && !Cell::LOCKED.is_inline() && !last.is_inline());
    }

    #[test]
    fn bytes_are_asked_for_in_two_ways() {
        for kind in [Read, Write] {
            for size in [1, 2, 3, 4, 5, 6, 7, 8] {
                for offset in 0..=8 - size as usize {
                    let mask = (((1u32 << size) - 1) << offset) as u8;
                    let asked = Asked::within(kind, 0x1000 + offset, size);
                    assert_eq!(asked, Asked::new(kind, mask));
                }
            }
        }
    }

    #[test]
    fn answers_only_the_same_epoch_and_bytes() {
        let now = Epoch::new(Slot(3), Time(9));
        let write = Cell::new(now, Write, 0x0F, 1);
        let read = Cell::new(now, Read, 0x0F, 1);
        assert!(write.answers(now, Write, 0x03) && write.answers(now, Read, 0x0F));
        assert!(read.answers(now, Read, 0x0F) && !read.answers(now, Write, 0x01));
        assert!(!write.answers(now, Read, 0x10));
        for other in [
            Epoch::new(Slot(3), Time(8)),
            Epoch::new(Slot(2), Time(9)),
            Epoch::NEVER,
        ] {
            assert!(!write.answers(other, Read, 0x01));
        }
        for special in [
            Cell::EMPTY,
            Cell::LOCKED,
            Cell::owned(Owned {
                index: MAX_INDEX,
                life: MAX_LIFE,
            }),
            Cell::shared(MAX_INDEX),
        ] {
            assert!(!special.answers(now, Read, 0x01));
            assert!(!special.answers(Epoch::NEVER, Read, 0x01));
        }
    }
}
