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
//!                                 3: the same, of one thread only, which may also release again what it released last
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
//! later comes with a bracket.
//!
//! To end a bias costs microseconds, so it begins only after a row of repeated operations, which has to be longer each time ([`Patience`]).

use super::atomic::Effect;
use super::{Bracket, HappensBefore};
use crate::clock::{Stands, ThreadClock};
use crate::detector::AtomicOp;
use crate::lock::{AtomicU32, AtomicU64, Ordering, light_barrier};

/// What a thread's state is while it makes an atomic operation without a bracket.
pub const WITHIN: u32 = 2;

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
    state.store(WITHIN, Ordering::Relaxed);
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

/// Makes the bias a new one, without flags. `quiesce` runs a barrier on all processors and waits until no thread is [`WITHIN`].
pub fn unbias(bias: &AtomicU64, quiesce: impl FnOnce()) {
    let old = bias.load(Ordering::Relaxed);
    bias.store((old | FLAGS) + 1, Ordering::Relaxed);
    quiesce();
}

/// How long a row of repeated operations on the objects of a shard is, and how long it has to be for a bias.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    row: u32,
    /// How often a bias came to its end.
    ends: u32,
}

impl Patience {
    /// An operation was made.
    #[inline]
    pub(super) fn count(&mut self, repeated: bool) {
        self.row = if repeated {
            self.row.saturating_add(1)
        } else {
            0
        };
    }

    fn disappoint(&mut self) {
        self.row = 0;
        self.ends += 1;
    }

    /// Is it time for a bias, which takes `row` operations the first time, and each time four times as many?
    #[inline]
    fn is_over(self, row: u32) -> bool {
        self.row >= row << (2 * self.ends.min(8))
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
}

impl Bracket<'_> {
    /// Is there a thread that may do without?
    #[inline]
    pub fn is_biased(&self) -> bool {
        self.bias.load(Ordering::Relaxed) & FLAGS != 0
    }

    /// Where that is told.
    pub fn bias(&self) -> &AtomicU64 {
        self.bias
    }

    /// The objects are about to change.
    pub(super) fn unbias(&mut self) {
        if self.is_biased() {
            unbias(self.bias, crate::lock::quiesce);
            self.shard.patience.disappoint();
        }
    }
}

impl HappensBefore {
    /// `thread` is about to make an operation within a bracket that [is biased](Bracket::is_biased).
    pub fn expect(&self, thread: &ThreadClock, bracket: &mut Bracket<'_>, op: AtomicOp) {
        let effect = Effect::of(op);
        let alone = bracket.bias.load(Ordering::Relaxed) & ALONE != 0;
        let changes = alone || effect.releases || effect.writes && thread.fence.is_some();
        if changes {
            bracket.unbias();
        }
    }

    /// After an operation of `thread`: which ones it may make on the same bytes without a bracket, if any.
    #[inline]
    pub fn repeats<'a>(
        &self,
        thread: &ThreadClock,
        bracket: &mut Bracket<'a>,
        size: u32,
        op: AtomicOp,
    ) -> Option<Repeats<'a>> {
        let row = self.slots.limits().row;
        if !bracket.is_biased() && !bracket.shard.patience.is_over(row) {
            return None;
        }
        let which = which(thread, bracket, size, op);
        if which == 0 || !crate::lock::can_quiesce() {
            return None;
        }
        let alone = if which & RELEASE != 0 { ALONE } else { 0 };
        let remembered = bracket.bias.load(Ordering::Relaxed) | BIASED | alone;
        bracket.bias.store(remembered, Ordering::Release);
        Some(Repeats {
            which,
            bias: bracket.bias,
            remembered,
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
