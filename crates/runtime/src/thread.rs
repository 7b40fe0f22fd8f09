//! What the runtime knows of a thread, and how an event finds its thread.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicPtr, Ordering};

use engine::clock::{Slot, ThreadClock};
use engine::shadow::{Epoch, ordered};
use event::{Site, SyncId, Tid};

use crate::analysis::{Analysis, Bracket, State};
use crate::detectors::Detector;
use crate::loans::{Loan, Loans};
use crate::options::Options;
use crate::signal::Queue;
use crate::signal_stack::SignalStack;
use crate::site::{self, HeldLock, LockSetId, SiteCache, SiteKey, StackId};
use crate::{alone, records, registry, tls};

/// The one runtime of the process.
#[derive(Debug)]
pub struct Runtime {
    /// The detector by name.
    pub detector: &'static Detector,
    /// What runs.
    pub analysis: Analysis,
    /// The user's choices.
    pub options: Options,
}

/// Null until [`crate::start`] is done.
pub static RUNTIME: AtomicPtr<Runtime> = AtomicPtr::new(core::ptr::null_mut());

/// The runtime, once it has started.
#[inline(always)]
pub fn runtime() -> Option<&'static Runtime> {
    // SAFETY: set once, never taken away.
    unsafe { RUNTIME.load(Ordering::Acquire).as_ref() }
}

const SET_CACHE: usize = 64;

/// The locks that a thread holds.
#[derive(Debug)]
struct Held {
    /// Outermost first, each with the set of those before it; a lock taken twice is in here twice.
    locks: Vec<(HeldLock, LockSetId)>,
    set: LockSetId,
    /// Sets met last, by what they are made of.
    cache: [Option<(LockSetId, HeldLock, LockSetId)>; SET_CACHE],
}

impl Held {
    fn new() -> Held {
        Held {
            locks: Vec::new(),
            set: LockSetId(0),
            cache: [None; SET_CACHE],
        }
    }

    fn push(&mut self, lock: HeldLock) {
        self.locks.push((lock, self.set));
        let slot = (lock.address >> 4 ^ u64::from(lock.stack.0)) as usize % SET_CACHE;
        if let Some((rest, known, set)) = self.cache[slot]
            && (rest, known) == (self.set, lock)
        {
            self.set = set;
            return;
        }
        let set = site::with_lock(self.set, lock);
        self.cache[slot] = Some((self.set, lock, set));
        self.set = set;
    }

    fn remove(&mut self, address: u64) {
        let is_it = |(lock, _): &(HeldLock, _)| lock.address == address;
        let Some(at) = self.locks.iter().rposition(is_it) else {
            return;
        };
        self.set = self.locks[at].1;
        if at + 1 == self.locks.len() {
            self.locks.pop();
            return;
        }
        let later = self.locks.split_off(at);
        for (lock, _) in later.into_iter().skip(1) {
            self.push(lock);
        }
    }
}

/// A thread of the program. Only its own thread touches it, until it has ended.
#[derive(Debug)]
pub struct Thread {
    /// Its number, never used again.
    pub tid: Tid,
    /// The detector's part.
    pub state: State,
    sites: SiteCache,
    held: Held,
    /// Nested requests not to look at reads, and at writes.
    pub ignore: [u32; 2],
    /// Initialisers that `pthread_once` is about to run, with their controls, innermost last.
    pub once: Vec<(usize, usize)>,
    /// Held between the two calls of an atomic operation.
    pub bracket: Option<Bracket<'static>>,
    /// Atomic objects that it was lent.
    pub loans: Loans,
    /// Signals that arrived while the thread was in the runtime.
    pub signals: Queue,
    /// What its signal handlers run on, if the program gave it a small stack for them.
    pub signal_stack: Option<SignalStack>,
}

/// Who knows the sites of events, and their numbers.
#[derive(Debug)]
pub struct Names<'a> {
    sites: &'a mut SiteCache,
    /// What the thread holds.
    locks: LockSetId,
}

impl Names<'_> {
    /// The number in `slot` of the site of an event whose entry point returns to `pc`, if it is remembered.
    #[inline(always)]
    pub fn number(&self, pc: usize, slot: Slot) -> Option<u32> {
        self.sites.number(tls::context(), pc, self.locks, slot)
    }

    /// What tells that event's site from others.
    #[inline(always)]
    pub fn key(&self, pc: usize) -> SiteKey {
        (tls::context(), pc, self.locks)
    }

    /// The site of that event.
    #[inline]
    pub fn site(&mut self, pc: usize) -> Site {
        self.sites.site(tls::context(), pc, self.locks)
    }

    /// Remembers the number of the site that was just asked for.
    pub fn set_number(&mut self, pc: usize, slot: Slot, number: u32) {
        self.sites
            .set_number(tls::context(), pc, self.locks, slot, number);
    }
}

impl Thread {
    /// A thread whose detector state is `state`.
    pub fn new(tid: Tid, state: State) -> Box<Self> {
        Box::new(Thread {
            tid,
            state,
            sites: SiteCache::new(),
            held: Held::new(),
            ignore: [0; 2],
            once: Vec::new(),
            bracket: None,
            loans: Loans::new(),
            signals: Queue::default(),
            signal_stack: None,
        })
    }

    /// The site of an event whose entry point returns to `pc`.
    #[inline]
    pub fn site(&mut self, pc: usize) -> Site {
        self.sites.site(tls::context(), pc, self.held.set)
    }

    /// The detector's part, and beside it who knows the sites.
    #[inline(always)]
    pub fn state_and_names(&mut self) -> (&mut State, Names<'_>) {
        let names = Names {
            sites: &mut self.sites,
            locks: self.held.set,
        };
        (&mut self.state, names)
    }

    /// Remembers the number of the site that was just asked for.
    pub fn set_number(&mut self, pc: usize, slot: Slot, number: u32) {
        self.state_and_names().1.set_number(pc, slot, number);
    }

    /// The detector's part, who knows the sites, and the bracket.
    #[inline(always)]
    pub fn state_names_and_bracket(
        &mut self,
    ) -> (&mut State, Names<'_>, Option<&mut Bracket<'static>>) {
        let names = Names {
            sites: &mut self.sites,
            locks: self.held.set,
        };
        (&mut self.state, names, self.bracket.as_mut())
    }

    /// The same, and the object at `address` if the thread was lent it.
    #[inline(always)]
    pub fn parts(&mut self, address: usize) -> (&mut State, Option<&mut Loan>, Names<'_>) {
        let names = Names {
            sites: &mut self.sites,
            locks: self.held.set,
        };
        (&mut self.state, self.loans.at(address), names)
    }

    /// Shows the stubs the thread's tables, which stay. What changes is for [`Thread::show`]; an epoch has to be there before the first page can be
    /// found.
    pub fn show_tables(thread: Option<&Thread>, own: &tls::Block) {
        let epoch = thread.map_or(Epoch::NEVER.bits(), |thread| thread.state.epoch());
        own.epoch.store(epoch, Ordering::Relaxed);
        SiteCache::show(thread.map(|thread| &thread.sites), own);
        let counts = thread.and_then(|thread| thread.state.counts());
        let counts = counts.map_or(core::ptr::null(), |counts| counts.as_ptr());
        own.counts.store(counts.cast_mut(), Ordering::Relaxed);
        ordered::clear(&own.ordered);
        let pages = runtime().map_or(core::ptr::null(), |runtime| runtime.analysis.pages());
        own.pages.store(pages.cast_mut(), Ordering::Relaxed);
        let depot = runtime().and_then(|runtime| runtime.analysis.depot());
        let depot = depot.map_or(core::ptr::null(), core::ptr::from_ref);
        own.depot.store(depot.cast_mut().cast(), Ordering::Relaxed);
        let renewed = runtime().map_or(core::ptr::null(), |runtime| runtime.analysis.renewed());
        own.renewed.store(renewed.cast_mut(), Ordering::Relaxed);
        let used = thread.and_then(|thread| thread.state.recorded_by_stubs());
        let used = used.map_or(core::ptr::null(), |clock| core::ptr::from_ref(clock.used()));
        own.used.store(used.cast_mut(), Ordering::Relaxed);
        own.slot.store(0, Ordering::Relaxed);
    }

    /// Tells the inlined checks and the stubs where the thread is, after any event of its.
    #[inline]
    pub fn show(&self, own: &tls::Block) {
        // Asked before anything is stored: so it is asked once which state it is.
        let clock = self.state.recorded_by_stubs();
        self.state.show(own);
        let slot = match clock.filter(|_| self.ignore == [0, 0]) {
            Some(clock) => {
                ordered::note_own(&own.ordered, clock);
                clock.numbering().map_or(0, site::slot_in_block)
            }
            None => 0,
        };
        own.slot.store(slot, Ordering::Relaxed);
        let locks = site::locks_in_key(self.held.set);
        own.locks.store(locks, Ordering::Relaxed);
    }

    /// The same after an atomic operation, which changes less; and whether the thread has anything to publish.
    #[inline(always)]
    pub fn show_operation(&self, own: &tls::Block) {
        let idle = match &self.state {
            // The slot is 0 if the stubs must not record, and another one if the thread has moved.
            State::FastTrack(state)
                if own.slot.load(Ordering::Relaxed) == site::slot_in_block(state.clock.slot()) =>
            {
                let clock = &state.clock;
                own.epoch.store(clock.epoch().bits(), Ordering::Relaxed);
                let stretch = abi::hot::stretch(clock.stretch());
                own.stretch.store(stretch, Ordering::Relaxed);
                ordered::note_own(&own.ordered, clock);
                clock.is_idle()
            }
            state => {
                self.show(own);
                state.clock().is_some_and(ThreadClock::is_idle)
            }
        };
        own.idle.store(u32::from(idle), Ordering::Relaxed);
    }

    /// The stack alone, for locks and creations.
    #[inline]
    pub fn stack(&mut self, pc: usize) -> StackId {
        site::stack_of(self.sites.site(tls::context(), pc, LockSetId(0)))
    }

    /// The thread holds the lock from now on.
    pub fn locked(&mut self, lock: SyncId, shared: bool, pc: usize) {
        let stack = self.stack(pc);
        self.held.push(HeldLock {
            address: lock.0,
            shared,
            stack,
        });
    }

    /// The locks that the thread holds alone.
    pub fn held_alone(&self) -> Vec<SyncId> {
        let alone = self.held().filter(|(_, shared)| !shared);
        alone.map(|(lock, _)| lock).collect()
    }

    /// The locks that the thread holds, outermost first, and whether with other readers.
    pub fn held(&self) -> impl Iterator<Item = (SyncId, bool)> {
        let held = self.held.locks.iter();
        held.map(|(lock, _)| (SyncId(lock.address), lock.shared))
    }

    /// Does the thread hold the lock together with other readers?
    pub fn holds_shared(&self, lock: SyncId) -> bool {
        let mut held = self.held.locks.iter().rev();
        held.find(|(held, _)| held.address == lock.0)
            .is_some_and(|(held, _)| held.shared)
    }

    /// The thread no longer holds the lock.
    pub fn unlocked(&mut self, lock: SyncId) {
        self.held.remove(lock.0);
    }
}

/// Runs `f` for the calling thread, or does nothing: before the runtime has started, after the thread's
/// last event, and when the thread is inside the runtime already.
#[inline(always)]
pub fn with<R>(f: impl FnOnce(&mut Thread, &'static Runtime) -> R) -> Option<R> {
    let own = tls::own();
    if !own.enter() {
        return None;
    }
    let result = current().map(|(thread, runtime)| {
        let result = f(thread, runtime);
        thread.show(own);
        result
    });
    own.leave();
    result
}

/// The same if `quick` does not do it, which changes nothing that is [shown](Thread::show) but that something is recorded.
#[inline(always)]
pub fn with_quick(
    quick: impl FnOnce(&mut Thread, &'static Runtime) -> bool,
    f: impl FnOnce(&mut Thread, &'static Runtime),
) {
    let own = tls::own();
    if !own.enter() {
        return;
    }
    if let Some((thread, runtime)) = current() {
        if quick(thread, runtime) {
            own.idle.store(0, Ordering::Relaxed);
        } else {
            f(thread, runtime);
            thread.show(own);
        }
    }
    own.leave();
}

/// The calling thread's state. The caller has entered.
#[inline(always)]
pub fn current() -> Option<(&'static mut Thread, &'static Runtime)> {
    let runtime = runtime()?;
    let own = tls::own();
    let mut thread = own.thread();
    if thread.is_null() {
        thread = attach(own, runtime)?;
    }
    // SAFETY: the thread is ours alone, and `depth` keeps us from coming here twice.
    Some((unsafe { &mut *thread }, runtime))
}

/// A thread that nobody announced: the first one, or one made behind our back.
#[cold]
fn attach(own: &'static tls::Block, runtime: &'static Runtime) -> Option<*mut Thread> {
    if own.ended.load(Ordering::Relaxed) != 0 {
        return None;
    }
    let tid = registry::announce(None, Site(0));
    let thread = Box::into_raw(Thread::new(tid, runtime.analysis.root(tid)));
    own.set_thread(thread);
    alone::attached(own, runtime);
    registry::started(thread);
    Some(thread)
}

/// Where found races go.
pub fn found(race: &engine::Race) {
    records::found(race);
}
