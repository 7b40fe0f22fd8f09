//! A page as layers: the accesses that its bytes remember, each with a bit for every byte of the page that remembers it.
//!
//! For pages that a thread goes through in detail and in no order before it synchronises, such as the tables of a compressor: what it does there is put off as a
//! [`Footprint`](super::footprints::Footprint), a set of bytes for each site, and checked when the thread synchronises, page by page. This is SlimState's deferred checking with
//! bit sets for footprints and for partitions ("both" in its Table II), for memory of which nobody says what its elements are.
//!
//! Half a kilobyte a layer, of which a page has a few; where each word has a past of its own there would be many, and the page is split.
//!
//! **What a byte remembers** is what its [`Location`](super::Location) would: the rules are the same ([`Rule`]), for many bytes at a time.
//!
//! **Memory that is made fresh** while a thread still has checks to make on its page leaves a *grave*: what the bytes remembered. The footprint is checked against that, and not
//! against what comes after.

use alloc::boxed::Box;
use alloc::vec::Vec;

use smallvec::SmallVec;

use super::bits::Bits;
use super::cell::Cell;
use super::location::{Conflict, Location};
use super::marks::{Mark, Numbers};
use super::memo::Memo;
use super::pages::{PAGE_BYTES, PAGE_WORDS};
use super::rule::Rule;
use super::sweep::{Extent, Sweeps};
use crate::clock::ThreadClock;
use crate::shadow::Depot;

/// With more layers there is little left that they could save.
pub(super) const MOST_LAYERS: usize = 48;

/// An access, and the bytes that remember it.
#[derive(Debug)]
pub(crate) struct Layer {
    /// The access, with all bytes of a word and no site.
    pub(crate) cell: Cell,
    /// Was it atomic? Only what is buried may be.
    pub(crate) atomic: bool,
    pub(crate) bits: Box<Bits>,
    /// From which sites, in the order in which they accessed them.
    pub(crate) marks: Vec<Mark>,
}

/// What some bytes remembered when they were made fresh.
#[derive(Debug)]
struct Grave {
    /// The how-manieth time that bytes of the page were.
    renewal: u64,
    /// Which bytes.
    bits: Box<Bits>,
    layers: Vec<Layer>,
}

/// Sets that nobody needs.
pub(crate) type Spare = Vec<Box<Bits>>;

/// Races of a layer, by whose access, and the words of the page that have them.
pub(crate) type Found = Vec<(Conflict, Cell, Extent)>;

/// All that the bytes of a page remember.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    layers: Vec<Layer>,
    graves: Vec<Grave>,
    /// How often bytes were made fresh before the last footprint was begun.
    begun: u64,
}

impl Layers {
    /// All bytes remember these accesses.
    pub(super) fn new(history: &[(Cell, bool)]) -> Layers {
        let mut layers = Layers::default();
        for &(cell, atomic) in history {
            debug_assert!(!atomic, "these are recorded in split pages only");
            let layer = layer_of(&mut layers.layers, cell, atomic);
            if layer.bits.is_empty() && cell.mask() == 0xFF {
                layer.bits = Bits::all();
                Mark::pieces(0, PAGE_BYTES as usize, cell.site(), |mark| {
                    layer.marks.push(mark)
                });
            } else {
                (0..PAGE_WORDS).for_each(|word| layer.add(word, cell));
            }
        }
        layers
    }

    /// The words of a page remember this, each. None if there would be too many layers.
    pub(super) fn of(words: &[[Cell; 2]], depot: &Depot) -> Option<Layers> {
        let mut layers = Layers::default();
        for (word, &cells) in words.iter().enumerate() {
            for (cell, atomic) in Location::with_cells(cells).history(depot) {
                debug_assert!(!atomic, "these are recorded in split pages only");
                let layer = layer_of(&mut layers.layers, cell, atomic);
                layer.add(word, cell);
            }
            if layers.len() > MOST_LAYERS {
                return None;
            }
        }
        Some(layers)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.layers.len()
    }

    /// A footprint is begun when bytes of the page have been made fresh so many times.
    pub(super) fn begin(&mut self, renewals: u64) {
        self.begun = renewals;
    }

    /// There is no footprint any more.
    pub(super) fn forget_graves(&mut self) {
        self.graves.clear();
    }

    /// Checks `new`, an access by `me`, and remembers it. Bit sets that nobody needs go to `spare`.
    pub(crate) fn commit<R: Rule>(
        &mut self,
        me: &ThreadClock,
        mut new: Layer,
        found: &mut Found,
        spare: &mut Spare,
    ) {
        for old in &self.layers {
            if old.cell.same_epoch(new.cell) && R::subsumes(old.cell, new.cell) {
                new.bits.remove(&old.bits);
            }
        }
        for old in &mut self.layers {
            meet::<R>(me, old, &new, found);
        }
        let same = |old: &&mut Layer| old.cell == new.cell;
        match self.layers.iter_mut().find(same) {
            Some(old) => {
                // They have no bytes in common. Nor may their marks: what was accessed from somewhere before it was made fresh would be the first.
                old.prune();
                new.prune();
                old.bits.unite(&new.bits);
                old.marks.append(&mut new.marks);
                give(new.bits, spare);
            }
            None => self.layers.push(new),
        }
        let mut at = 0;
        while let Some(layer) = self.layers.get_mut(at) {
            if layer.bits.is_empty() {
                give(self.layers.swap_remove(at).bits, spare);
            } else {
                layer.compact();
                at += 1;
            }
        }
    }

    /// Checks the access `new` by `me`, which was put off since `begun`, against what its bytes remembered when they were made fresh after that; and takes these bytes out. If `others` put off checks, too,
    /// they find it there.
    pub(crate) fn exhume(
        &mut self,
        me: &ThreadClock,
        begun: u64,
        new: &mut Layer,
        found: &mut Found,
        others: bool,
    ) {
        let graves = self.graves.iter_mut();
        for grave in graves.filter(|grave| grave.renewal > begun) {
            for old in &grave.layers {
                race(me, old, new, found);
            }
            if others && new.bits.meets(&grave.bits) {
                grave.layers.push(new.part(&grave.bits));
            }
            new.bits.remove(&grave.bits);
        }
    }

    /// Makes bytes fresh, for the how-manieth time; is anybody's footprint `open`?
    pub(super) fn clear(&mut self, sweeps: &Sweeps, renewal: u64, open: bool) {
        let bits = Bits::of(sweeps);
        if open {
            self.bury(&bits, renewal, &[]);
        }
        self.layers.retain_mut(|layer| {
            layer.bits.remove(&bits);
            !layer.bits.is_empty()
        });
    }

    /// These bytes are made fresh; they remember what the layers say, and `others`.
    pub(super) fn bury(&mut self, bits: &Bits, renewal: u64, others: &[(Cell, bool, usize)]) {
        // Whoever began before an earlier time finds them there.
        let mut fresh = Box::new(bits.clone());
        for grave in self
            .graves
            .iter()
            .filter(|grave| grave.renewal > self.begun)
        {
            fresh.remove(&grave.bits);
        }
        if fresh.is_empty() {
            return;
        }
        let mut layers: Vec<Layer> = Vec::new();
        for old in &self.layers {
            if old.bits.meets(&fresh) {
                layers.push(old.part(&fresh));
            }
        }
        for &(cell, atomic, word) in others {
            layer_of(&mut layers, cell, atomic).add(word, cell);
        }
        self.graves.push(Grave {
            renewal,
            bits: fresh,
            layers,
        });
    }

    /// A location for each word, with what its bytes remember; here that is forgotten. Fields that it takes are of `memo`, if there is one.
    pub(super) fn take_locations<'d>(
        &mut self,
        depot: &'d Depot,
        mut memo: Option<&'d mut Memo>,
    ) -> impl Iterator<Item = Location> + use<'d> {
        let layers = core::mem::take(&mut self.layers);
        let mut numbers = Numbers::new();
        let mut accesses: Vec<(usize, (Cell, bool))> = Vec::new();
        for layer in &layers {
            layer.each(&mut numbers, |word, cell| {
                accesses.push((word, (cell, false)));
            });
        }
        // Those of a word stay in the order of their layers.
        accesses.sort_by_key(|&(word, _)| word);
        let mut accesses = accesses.into_iter().peekable();
        (0..PAGE_WORDS).map(move |word| {
            let mut history: SmallVec<[(Cell, bool); 4]> = SmallVec::new();
            while let Some((_, access)) = accesses.next_if(|&(of, _)| of == word) {
                history.push(access);
            }
            let fields = memo.as_deref_mut().filter(|_| history.len() > 2);
            if let Some(location) = fields.and_then(|memo| in_fields(depot, memo, &history)) {
                return location;
            }
            let location = Location::new();
            if !history.is_empty() {
                location.absorb(depot, &history, 0xFF);
            }
            location
        })
    }

    /// Bytes of all that.
    pub(super) fn bytes(&self) -> u64 {
        let graves = self.graves.iter().map(|grave| 1 + grave.layers.len());
        let sets = self.layers.len() + graves.sum::<usize>();
        let marks: usize = self.layers.iter().map(|layer| layer.marks.capacity()).sum();
        (sets * (size_of::<Bits>() + size_of::<Layer>()) + marks * size_of::<Mark>()) as u64
    }
}

impl Layer {
    /// Forgets marks of bytes that remember another access by now, if these are most.
    fn compact(&mut self) {
        let marks = self.marks.len();
        if marks < 64 || (self.bits.len() as usize) > marks / 4 {
            return;
        }
        let bits = &self.bits;
        self.marks.retain(|mark| mark.meets(bits));
        self.marks.shrink_to_fit();
    }

    /// Forgets of each mark what remembers another access by now, or was made fresh.
    fn prune(&mut self) {
        let marks = core::mem::take(&mut self.marks);
        for mark in marks {
            mark.within(&self.bits, |mark| self.marks.push(mark));
        }
    }

    /// That of these bytes.
    fn part(&self, of: &Bits) -> Layer {
        let mut bits = Bits::none();
        let common = self.bits.common(of);
        common.for_each(|(word, mask)| bits.add(word, mask));
        Layer {
            cell: self.cell,
            atomic: self.atomic,
            bits,
            marks: self.marks.clone(),
        }
    }

    /// Its accesses to each word, by site.
    pub(crate) fn each(&self, numbers: &mut Numbers, mut f: impl FnMut(usize, Cell)) {
        numbers.put(&self.marks);
        for (word, mask) in self.bits.words() {
            by_site(self.cell, mask, numbers.word(word), |cell| f(word, cell));
        }
    }

    /// The bytes of a word remember an access of the layer's epoch and kind, too, if they do not yet.
    fn add(&mut self, word: usize, cell: Cell) {
        self.bits.add(word, cell.mask());
        let marks = &mut self.marks;
        Mark::masked(word, cell.mask(), cell.site(), &mut |mark| marks.push(mark));
    }
}

/// A location with this history of plain accesses in fields, which next to no other one has, if each byte has one of a kind.
fn in_fields(depot: &Depot, memo: &mut Memo, history: &[(Cell, bool)]) -> Option<Location> {
    let cells: SmallVec<[Cell; 4]> = history.iter().map(|&(cell, _)| cell).collect();
    let room = memo.take_fields(depot, &cells, cells.first()?.mask())?;
    Some(Location::with_cells([Cell::fields(room), Cell::EMPTY]))
}

/// The access of a layer to bytes of a word, for each site: `number` is that of the site of a byte of the word.
fn by_site(cell: Cell, mask: u8, number: impl Fn(usize) -> u32, mut f: impl FnMut(Cell)) {
    let mut rest = mask;
    while rest != 0 {
        let site = number(rest.trailing_zeros() as usize);
        let bytes = (0..8).filter(|&byte| rest >> byte & 1 != 0 && number(byte) == site);
        let same = bytes.fold(0, |same, byte| same | 1 << byte);
        f(cell.named(site).over(same));
        rest &= !same;
    }
}

/// The layer of an access, to whichever bytes and from whichever site.
fn layer_of(layers: &mut Vec<Layer>, cell: Cell, atomic: bool) -> &mut Layer {
    let cell = cell.over(0xFF).named(0);
    let same = |layer: &Layer| (layer.cell, layer.atomic) == (cell, atomic);
    // Neighbours mostly remember the same.
    let at = layers.iter().rposition(same).unwrap_or(layers.len());
    if at == layers.len() {
        layers.push(Layer {
            cell,
            atomic,
            bits: Bits::none(),
            marks: Vec::new(),
        });
    }
    &mut layers[at]
}

/// A set that nobody needs.
pub(super) fn give(mut bits: Box<Bits>, spare: &mut Spare) {
    /// More than that are not kept.
    const MOST: usize = 64;
    if spare.len() < MOST {
        bits.clear();
        spare.push(bits);
    }
}

/// Is `new`, by `me`, ordered after `old`?
fn is_ordered(me: &ThreadClock, old: Cell, new: Cell) -> bool {
    old.slot() == new.slot() || me.covers(old.slot(), old.time())
}

/// Holds `new` against `old`, which is left with the bytes that still have to remember it.
#[inline]
fn meet<R: Rule>(me: &ThreadClock, old: &mut Layer, new: &Layer, found: &mut Found) {
    let ordered = race(me, old, new, found);
    if R::supersedes(old.cell, new.cell, ordered) {
        old.bits.remove(&new.bits);
    }
}

/// Finds the races of `new` with `old`. Are they ordered?
#[inline]
fn race(me: &ThreadClock, old: &Layer, new: &Layer, found: &mut Found) -> bool {
    let ordered = is_ordered(me, old.cell, new.cell);
    if !ordered && (old.cell.is_write() || new.cell.is_write()) && old.bits.meets(&new.bits) {
        collect(old, new, found);
    }
    ordered
}

/// The bytes of both, as few extents as say it.
#[cold]
#[inline(never)]
fn collect(old: &Layer, new: &Layer, found: &mut Found) {
    let first = found.len();
    for (word, mask) in old.bits.common(&new.bits) {
        let number = |marks: &[Mark], byte: usize| Mark::find(marks, 8 * word + byte);
        by_site(
            new.cell,
            mask,
            |byte| number(&new.marks, byte),
            |second| {
                let was = |byte| number(&old.marks, byte);
                by_site(old.cell, second.mask(), was, |first_side| {
                    let conflict = Conflict {
                        old: first_side,
                        atomic: old.atomic,
                        mask: first_side.mask(),
                    };
                    add(
                        &mut found[first..].last_mut(),
                        conflict,
                        second,
                        word as u16,
                    )
                    .unwrap_or_else(|extent| found.push((conflict, second, extent)));
                });
            },
        );
    }
}

/// One more word with a conflict like the last one, if it is the next.
fn add(
    last: &mut Option<&mut (Conflict, Cell, Extent)>,
    conflict: Conflict,
    second: Cell,
    word: u16,
) -> Result<(), Extent> {
    match last {
        Some((before, by, extent))
            if *before == conflict && *by == second && extent.first + extent.count == word =>
        {
            extent.count += 1;
            Ok(())
        }
        _ => Err(Extent {
            first: word,
            step: 1,
            count: 1,
        }),
    }
}
