//! Which states outside already have the thread's access: the same-epoch test where a location's own cells do not say it.
//!
//! ```text
//! table[index of the state % 1024]     state    SHARED(i), OWNED(i), BLOCK(i), MIXED(i): the first cell of a location
//!                                      access   what the thread did there, as a cell of its epoch
//! ```
//!
//! A word that many threads read has no room for all of them, and must not be written each time that one of them comes along. So what each has
//! done is in a table of its own: the test loads the first cell and looks it up, and writes nothing. The
//! stubs that instrumented code calls have it in assembler (`runtime::stub`).
//!
//! **Why the table may answer.** An entry says: the thread made this access, in the epoch that the cell names, to a location in this state,
//! and it was recorded there; if the epoch is still the thread's, the access about to be made is redundant whatever others did to the location since,
//! as [`Location::is_redundant`](super::Location::is_redundant) explains. Only fresh memory must not be taken for what it was:
//! * a *shared* state never changes and contains the access, whichever location is in it, and as often as it comes back; the table holds the state, so that its
//!   index means nothing else meanwhile;
//! * an *owned* state is one location's and only gains accesses, or loses some of this epoch to a race that is reported (or to an access of the thread that is not recorded, if there
//!   are such: then nothing is noted of it). When bytes are made
//!   fresh, the location is given another one, and no two have the same name ([`Depot::own`](super::Depot)). It may have atomic accesses, whose release sequences
//!   a plain write must end each time, so it answers for reads only;
//! * a *block* is an owned state without atomic accesses; one that is *mixed* has some.

use alloc::boxed::Box;
// Not loom's: nobody but the thread itself looks at it.
use core::sync::atomic::{AtomicU64, Ordering};

use super::cell::Cell;
use super::depot::Depot;
use crate::boxed::boxed_with;

/// How many there are: a power of two.
const ENTRIES: usize = 1024;

/// What is known of one state.
#[derive(Debug)]
#[repr(C)]
pub struct Entry {
    state: AtomicU64,
    access: AtomicU64,
}

impl Entry {
    const fn new() -> Entry {
        Entry {
            state: AtomicU64::new(0),
            access: AtomicU64::new(0),
        }
    }
}

/// The entries of a table. The thread writes them inside of the engine; its own stubs and inlined checks read them, outside.
pub type Entries = [Entry; ENTRIES];

/// The entries of a table in which nothing is known, for who has none.
pub static NOTHING: Entries = [const { Entry::new() }; ENTRIES];

/// The access that the thread made to locations whose first cell is `first`; EMPTY if it made none that is known.
#[inline(always)]
pub(super) fn known(entries: &Entries, first: Cell) -> Cell {
    let entry = &entries[place(first)];
    if entry.state.load(Ordering::Relaxed) == first.0 {
        Cell(entry.access.load(Ordering::Relaxed))
    } else {
        Cell::EMPTY
    }
}

#[inline(always)]
const fn place(first: Cell) -> usize {
    (first.0 >> Cell::INDEX_SHIFT) as usize % ENTRIES
}

/// The table.
#[derive(Debug)]
pub struct Settled(Box<Entries>);

impl Default for Settled {
    fn default() -> Settled {
        Settled(boxed_with(Entry::new))
    }
}

impl Settled {
    /// Where an entry begins is this far up in its state's cell, …
    pub const SHIFT: u32 = Cell::INDEX_SHIFT - size_of::<Entry>().trailing_zeros();
    /// … in these bits.
    pub const MASK: usize = (ENTRIES - 1) * size_of::<Entry>();
    /// Where in an entry the access is; the state comes first.
    pub const ACCESS: usize = core::mem::offset_of!(Entry, access);

    /// The entries. They stay where they are.
    #[inline(always)]
    pub fn entries(&self) -> &Entries {
        &self.0
    }

    /// The thread's `access` is recorded in the state `first`. Nothing is noted of states that are inline.
    #[inline(never)]
    pub(super) fn settle(&self, depot: &Depot, first: Cell, access: Cell) {
        if first.is_inline() {
            return;
        }
        let atomics = first.as_owned().is_some() || first.as_mixed().is_some();
        let access = if atomics { access.read() } else { access };
        let entry = &self.0[place(first)];
        let state = Cell(entry.state.load(Ordering::Relaxed));
        if state != first {
            if let Some(index) = first.as_shared() {
                depot.hold(index, 1);
            }
            entry.access.store(0, Ordering::Relaxed);
            entry.state.store(first.0, Ordering::Relaxed);
            let_go(depot, state);
        }
        let known = Cell(entry.access.load(Ordering::Relaxed));
        let access = if known.same_but_site(access) {
            access.with(known.mask())
        } else {
            access
        };
        entry.access.store(access.0, Ordering::Relaxed);
    }

    /// Forgets all.
    pub(super) fn flush(&self, depot: &Depot) {
        for entry in &*self.0 {
            let state = Cell(entry.state.load(Ordering::Relaxed));
            // Most threads are short, and have few: their other entries are in memory that nobody has touched.
            if state == Cell::EMPTY {
                continue;
            }
            entry.access.store(0, Ordering::Relaxed);
            entry.state.store(0, Ordering::Relaxed);
            let_go(depot, state);
        }
    }
}

fn let_go(depot: &Depot, state: Cell) {
    if let Some(index) = state.as_shared() {
        depot.let_go(index, 1);
    }
}
