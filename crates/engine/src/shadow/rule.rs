//! What an access makes of the accesses remembered before it: the difference between the detectors.

use crate::shadow::Cell;

/// Which remembered accesses still matter after another access to the same bytes, both plain or both atomic.
///
/// A rule may forget an access only if each later access that races with it also races with one that is
/// kept, or if a race on these bytes was just reported.
pub trait Rule: Send + Sync + 'static {
    /// The detector's name.
    const NAME: &'static str;

    /// `old` was made by the same thread in the same epoch. Is there no need to record `new`?
    fn subsumes(old: Cell, new: Cell) -> bool;

    /// Is there no need to remember `old` once `new` is recorded? `ordered`: `old` happened before `new`.
    fn supersedes(old: Cell, new: Cell, ordered: bool) -> bool;

    /// The same if both are atomic, which never race with each other, and `old` happened before `new`.
    fn supersedes_atomic(old: Cell, new: Cell) -> bool;
}

/// FastTrack (Flanagan and Freund, PLDI 2009): epochs, and read vectors only where reads are concurrent.
///
/// * A write makes all older accesses to its bytes superfluous. If they happened before it, whatever races
///   with one of them is not ordered after the write either, and conflicts with it. If not, a race was just
///   reported. (The paper keeps an ordered read epoch; by the same argument there is no need to.)
/// * A read supersedes the reads that happened before it: what races with those races with it.
///   It never supersedes a write.
/// * A read needs no record if the thread wrote the bytes in the same epoch: what races with the
///   read races with the write.
/// * An atomic access supersedes atomic ones that happened before it, unless it is a read and they are writes: what races with those is
///   plain, not ordered after this one either, and conflicts with it. Those that did not happen before it stay, for there
///   was no race. It never supersedes a plain one: that may race with another atomic access.
#[derive(Clone, Copy, Debug)]
pub struct FastTrackRule;

impl Rule for FastTrackRule {
    const NAME: &'static str = "fasttrack";

    #[inline(always)]
    fn subsumes(old: Cell, new: Cell) -> bool {
        old.is_write() || !new.is_write()
    }

    #[inline(always)]
    fn supersedes(old: Cell, new: Cell, ordered: bool) -> bool {
        new.is_write() || (ordered && !old.is_write())
    }

    #[inline(always)]
    fn supersedes_atomic(old: Cell, new: Cell) -> bool {
        new.is_write() || !old.is_write()
    }
}

/// DJIT⁺ (Pozniansky and Schuster), Pacer's GENERIC: a vector of last reads and a vector of last writes. Only a
/// thread's own older access of the same kind is superseded.
#[derive(Clone, Copy, Debug)]
pub struct DjitRule;

impl Rule for DjitRule {
    const NAME: &'static str = "djit";

    #[inline(always)]
    fn subsumes(old: Cell, new: Cell) -> bool {
        old.is_write() == new.is_write()
    }

    #[inline(always)]
    fn supersedes(old: Cell, new: Cell, _ordered: bool) -> bool {
        old.slot() == new.slot() && old.is_write() == new.is_write()
    }

    #[inline(always)]
    fn supersedes_atomic(old: Cell, new: Cell) -> bool {
        DjitRule::supersedes(old, new, true)
    }
}
