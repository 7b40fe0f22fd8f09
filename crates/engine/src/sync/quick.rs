//! Atomic operations that need no bracket, because they change nothing.
//!
//! An operation of thread t is *repeated* if the detector would do nothing about it: an earlier access of t stands for it in the shadow
//! (`clock/recorded.rs`), t knows all that the object holds, and it releases nothing that the object does not hold already. Whether
//! it is depends on t's own state, of which [`ThreadClock::stretch`] and [`ThreadClock::is_idle`] tell, and on the object. So t remembers
//! the objects for which it would be; and while the object does not change, such operations need not be told to anybody, and
//! need no lock.
//!
//! The *bias* of a shard of atomic objects says whether they may have changed:
//!
//! ```text
//! bias   version << 2 | flags     0: no thread may do without the bracket
//!                                 1: threads that remember this very value may, for operations that release nothing
//!                                 3: the same, of one thread only, the owner, which may also release again what it released last, and
//!                                    something new into objects that were lent to it (`lent`)
//! ```
//!
//! A thread without a bracket says that it is [`WITHIN`], then looks at the bias, then operates, then says that it is out. Whoever is about to
//! change an object holds its bracket, makes the bias a new one, and waits until nobody is within; his operation comes after. The thread's
//! store and load may not be reordered; so that this costs it nothing, the one who waits runs a barrier on all processors (`quiesce`). So
//! operations without a bracket are ordered with all that change the object, and among themselves their order
//! does not matter: none has an effect.
//!
//! What an operation might change is judged before it is made. Under flags 1: nothing that matters, if it releases nothing. A relaxed store
//! makes the object forget what it held, but who may do without a bracket knew that. It may take
//! what others released, so under flags 3 it always counts as a change.
//! A thread has 3 only after an operation that releases, and that was a change under 1: at that moment nobody else was within, and whoever comes
//! later comes with a bracket. What the owner does with a bracket ends its bias only if nothing else tells it of the change, and then it need not wait: it is not within.
//!
//! To end a bias costs microseconds, so it begins only after a row of repeated operations, or of one thread's, which has to be longer each time ([`Patience`]).

use event::Tid;

use super::atomic::Effect;
use super::lent::Lent;
use super::{Bracket, HappensBefore};
use crate::clock::{Stands, ThreadClock};
use crate::detector::AtomicOp;
use crate::lock::{AtomicU32, AtomicU64, Ordering, light_barrier};

/// What a thread's state is while it makes an atomic operation without a bracket.
pub const WITHIN: u32 = 2;
/// The same if it is one on an object that was lent to it, which has an end to it yet.
pub const LENT: u32 = 3;

/// A repeated load.
pub const LOAD: u8 = 1;
/// A repeated read-modify-write that releases nothing; also a load.
pub const UPDATE: u8 = 2;
/// A repeated relaxed store.
pub const STORE: u8 = 4;
/// A repeated store or read-modify-write that releases.
pub const RELEASE: u8 = 8;

const BIASED: u64 = 1;
const ALONE: u64 = 2;
const FLAGS: u64 = BIASED | ALONE;

/// Begins an operation without a bracket, if `bias` is still what the thread remembers. If not, `state` is 0 again.
#[inline(always)]
pub fn begin(state: &AtomicU32, bias: &AtomicU64, remembered: u64) -> bool {
    begin_as(WITHIN, state, bias, remembered)
}

/// The same for one that is [`WITHIN`] or [`LENT`].
#[inline(always)]
pub fn begin_as(what: u32, state: &AtomicU32, bias: &AtomicU64, remembered: u64) -> bool {
    state.store(what, Ordering::Relaxed);
    light_barrier();
    // Acquire: the operation comes after what was done before the bias became this.
    let same = bias.load(Ordering::Acquire) == remembered;
    if !same {
        state.store(0, Ordering::Relaxed);
    }
    same
}

/// Ends it.
#[inline(always)]
pub fn end(state: &AtomicU32) {
    state.store(0, Ordering::Release);
}

/// Is a thread in this state in the midst of an operation without a bracket?
#[inline]
pub const fn is_within(state: u32) -> bool {
    matches!(state, WITHIN | LENT)
}

/// Makes the bias a new one, without flags. `quiesce` runs a barrier on all processors and waits until no thread [is within](is_within) that was before.
pub fn unbias(bias: &AtomicU64, quiesce: impl FnOnce()) {
    let old = bias.load(Ordering::Relaxed);
    bias.store((old | FLAGS) + 1, Ordering::Relaxed);
    quiesce();
}

/// How long a row of repeated operations on the objects of a shard is, or of one thread's, and how long it has to be for a bias.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    row: u32,
    /// The thread that made the last one, or the owner of a bias; …
    last: Tid,
    /// … and how many it made in a row.
    alone: u32,
    /// How often a bias came to its end.
    ends: u32,
}

impl Patience {
    /// An operation was made.
    #[inline]
    pub(super) fn count(&mut self, tid: Tid, repeated: bool) {
        let more = |row: u32, more| if more { row.saturating_add(1) } else { 0 };
        self.row = more(self.row, repeated);
        self.alone = more(self.alone, self.last == tid);
        self.last = tid;
    }

    fn disappoint(&mut self) {
        (self.row, self.alone) = (0, 0);
        self.ends += 1;
    }

    /// Is it time for a bias, which takes a `row` of so many operations the first time, and each time four times as many?
    #[inline]
    fn is_over(self, row: u32) -> bool {
        self.row >= row << (2 * self.ends.min(8))
    }

    /// Is it time to lend objects to a thread, which has less from it?
    #[inline]
    fn is_alone(self, row: u32) -> bool {
        self.alone >= row << (2 * self.ends.min(8) + 3)
    }
}

/// Which operations a thread may make without a bracket, as long as the bias is this one and its own state is what it was.
#[derive(Clone, Copy, Debug)]
pub struct Repeats<'a> {
    /// [`LOAD`] and so on.
    pub which: u8,
    /// Where the bias is.
    pub bias: &'a AtomicU64,
    /// And what.
    pub remembered: u64,
    /// It may also release something new, under the same condition.
    pub lent: Option<Lent>,
}

impl<'a> Bracket<'a> {
    /// Is there a thread that may do without?
    #[inline]
    pub fn is_biased(&self) -> bool {
        self.flags() & FLAGS != 0
    }

    fn flags(&self) -> u64 {
        self.biased.bias.load(Ordering::Relaxed)
    }

    /// Where that is told.
    pub fn bias(&self) -> &'a AtomicU64 {
        &self.biased.bias
    }

    /// Is it this thread alone?
    fn is_owned_by(&self, thread: &ThreadClock) -> bool {
        self.flags() & ALONE != 0 && self.shard.patience.last == thread.tid()
    }

    /// The objects are about to change.
    pub(super) fn unbias(&mut self) {
        if self.is_biased() {
            unbias(self.bias(), crate::lock::quiesce);
            self.shard.patience.disappoint();
        }
    }
}

impl HappensBefore {
    /// `thread` is about to make an operation within a bracket that [is biased](Bracket::is_biased).
    pub fn expect(&self, thread: &ThreadClock, bracket: &mut Bracket<'_>, op: AtomicOp) {
        let effect = Effect::of(op);
        if bracket.is_owned_by(thread) {
            // It is told of what it publishes: that begins another stretch.
            if effect.writes && !effect.releases && (!effect.reads || thread.fence.is_some()) {
                unbias(bracket.bias(), || ());
            }
            return;
        }
        let alone = bracket.flags() & ALONE != 0;
        let changes = alone || effect.releases || effect.writes && thread.fence.is_some();
        if changes {
            bracket.unbias();
        }
    }

    /// After an operation of `thread`: which ones it may make on the same bytes without a bracket, if any. What it was lent there before counts no more.
    #[inline]
    pub fn repeats<'a>(
        &self,
        thread: &ThreadClock,
        bracket: &mut Bracket<'a>,
        size: u32,
        op: AtomicOp,
    ) -> Option<Repeats<'a>> {
        let (row, patience) = (self.slots.limits().row, bracket.shard.patience);
        let lends = bracket.again && patience.is_alone(row) && Effect::of(op).releases;
        if !lends && !bracket.is_biased() && !patience.is_over(row) {
            return None;
        }
        let repeats = self.repeats_now(thread, bracket, size, op, lends);
        if bracket.took_back {
            unbias(bracket.bias(), || ());
            return None;
        }
        repeats
    }

    #[inline(never)]
    fn repeats_now<'a>(
        &self,
        thread: &ThreadClock,
        bracket: &mut Bracket<'a>,
        size: u32,
        op: AtomicOp,
        lends: bool,
    ) -> Option<Repeats<'a>> {
        if !crate::lock::can_quiesce() || !matches!(size, 1..=16) {
            return None;
        }
        let which = which(thread, bracket, size, op);
        let lent = lends.then(|| self.lend(thread, bracket, size)).flatten();
        if which == 0 && lent.is_none() {
            return None;
        }
        let alone = which & RELEASE != 0 || lent.is_some();
        let remembered = bracket.flags() | BIASED | if alone { ALONE } else { 0 };
        bracket.bias().store(remembered, Ordering::Release);
        Some(Repeats {
            which,
            bias: bracket.bias(),
            remembered,
            lent,
        })
    }
}

#[inline(never)]
fn which(thread: &ThreadClock, bracket: &mut Bracket<'_>, size: u32, op: AtomicOp) -> u8 {
    let addr = bracket.addr();
    let (mut known, mut nothing, mut whole, mut again) = (true, true, false, false);
    if let Some(object) = bracket.find() {
        known = thread.knows(&object.released);
        nothing = object.released.is_empty();
        whole = object.size >= size;
        again = thread.is_released(&object.released);
    }
    let recorded = |write| thread.stands(addr, size, write);
    let silent = thread.fence.is_none();
    let mut which = 0;
    if known && recorded(false) == Stands::Yes {
        which |= LOAD;
        if recorded(true) == Stands::Yes && whole && silent {
            which |= UPDATE;
            if nothing {
                which |= STORE;
            }
        }
    }
    if Effect::of(op).releases && recorded(true) == Stands::IfUntaken && whole && again {
        which |= RELEASE;
    }
    which
}
