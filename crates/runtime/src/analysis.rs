//! What can run in a program, behind one type: which one is chosen at start. [`crate::detectors`] has the names for users.

use engine::detector::{Access, AtomicOp, BlockShadow};
use engine::{Counters, Detector, SyncOp};
use event::{AccessKind, Addr, Elements, Site, SyncId, Tid};

use engine::clock::{Slot, ThreadClock};
use engine::pacer::Pacer;
use engine::precise::{PreciseThread, Shadow};
use engine::rex::{Locks, OwnThread, Rex};
use engine::shadow::{Census, Depot, Entries, Epoch, FastTrackRule, Location, Page, Renewed};
use engine::slimstate::{SlimState, SlimStateBb};
use engine::sync::HappensBefore;
use engine::sync::quick::Repeats;

use alloc::boxed::Box;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::lock::Guard;
use crate::options::Options;
use crate::recording::{Log, Recorded, Recording};
use crate::thread::found;
use crate::{sys, tls};

/// The bracket of an atomic operation. In a recorded run with the log, which comes first in the order of locks.
#[derive(Debug)]
pub struct Bracket<'a> {
    /// The log.
    pub log: Option<Guard<'a, Log>>,
    /// The detector's part.
    pub of: engine::sync::Bracket<'a>,
}

macro_rules! detectors {
    ($($name:literal => $variant:ident($type:ty) = |$options:pat_param| $new:expr;)*) => {
        /// A detector.
        #[derive(Debug)]
        #[allow(missing_docs, clippy::large_enum_variant, reason = "there is one in a process")]
        pub enum Analysis { $($variant($type),)* Recorded(Box<Recording>) }

        /// A thread's part of a detector.
        #[derive(Debug)]
        #[allow(
            missing_docs,
            clippy::large_enum_variant,
            clippy::enum_variant_names,
            reason = "named as the detectors; lives in the thread's own allocation"
        )]
        pub enum State { $($variant(<$type as Detector>::Thread),)* Recorded(Box<Recorded>) }

        impl Analysis {
            /// The analysis of that name.
            pub fn new(name: &str, options: &Options) -> Option<Self> {
                match name {
                    $($name => {
                        let $options = options;
                        Some(Analysis::$variant($new))
                    })*
                    // The same detector, with checks that are put off.
                    "layers" => {
                        let detector = engine::FastTrack::default().with_layers(0);
                        Some(Analysis::FastTrack(detector))
                    }
                    _ => None,
                }
            }
            /// See [`Detector::root`].
            pub fn root(&self, tid: Tid) -> State {
                match self {
                    $(Analysis::$variant(d) => {
                        let root = d.root(tid);
                        live_on(d);
                        State::$variant(root)
                    })*
                    Analysis::Recorded(recording) => State::Recorded(recording.root(tid)),
                }
            }
            /// See [`Detector::fork`].
            pub fn fork(&self, parent: &mut State, tid: Tid) -> State {
                match (self, parent) {
                    $((Analysis::$variant(d), State::$variant(p)) => {
                        let child = d.fork(p, tid, &mut found);
                        live_on(d);
                        State::$variant(child)
                    })*
                    (Analysis::Recorded(recording), State::Recorded(parent)) =>
                        State::Recorded(recording.fork(parent, tid)),
                    _ => self.root(tid),
                }
            }
            /// See [`Detector::join`].
            pub fn join(&self, thread: &mut State, child: &mut State) {
                match (self, thread, child) {
                    $((Analysis::$variant(d), State::$variant(t), State::$variant(c)) =>
                        d.join(t, c, &mut found),)*
                    (Analysis::Recorded(recording), State::Recorded(thread), State::Recorded(child)) =>
                        recording.join(thread, child),
                    _ => {}
                }
            }
            detectors!(@each [$($variant)*]
                /// See [`Detector::end`].
                end();
                /// See [`Detector::access`].
                access(access: Access);
                /// See [`Detector::range`].
                range(kind: AccessKind, elements: Elements, site: Site);
                /// See [`Detector::alloc`].
                alloc(addr: Addr, elem: u8, len: u64, site: Site);
                /// See [`Detector::renew`].
                renew(addr: Addr, bytes: u64);
                /// See [`Detector::free`].
                free(addr: Addr, bytes: u64, site: Site);
                /// See [`Detector::sync`].
                sync(op: SyncOp);
            );
        }

        impl Analysis {
            /// See [`Detector::order`].
            #[inline]
            pub fn order(&self) -> &HappensBefore {
                match self {
                    $(Analysis::$variant(d) => d.order(),)*
                    Analysis::Recorded(recording) => recording.inner().order(),
                }
            }
            /// See [`Detector::bracketed`].
            #[inline(never)]
            pub fn bracketed_any(&self, thread: &mut State, bracket: &mut Bracket<'_>, size: u32, op: AtomicOp, site: Site) {
                match (self, thread) {
                    $((Analysis::$variant(d), State::$variant(t)) =>
                        d.bracketed(t, &mut bracket.of, size, op, site, &mut found),)*
                    (Analysis::Recorded(recording), State::Recorded(thread)) =>
                        recording.bracketed(thread, bracket, size, op, site),
                    _ => {}
                }
            }
            /// See [`Detector::shadow`].
            pub fn shadow(&self, f: &mut dyn FnMut(&BlockShadow)) {
                match self {
                    $(Analysis::$variant(d) => Detector::shadow(d, f),)*
                    Analysis::Recorded(recording) => recording.inner().shadow(f),
                }
            }
            /// See [`Detector::bytes`].
            pub fn bytes(&self, f: &mut dyn FnMut(&'static str, u64)) {
                match self {
                    $(Analysis::$variant(d) => d.bytes(f),)*
                    Analysis::Recorded(recording) => recording.inner().bytes(f),
                }
            }
        }

        impl State {
            /// The rules' counters.
            pub fn counters(&self, f: &mut dyn FnMut(&'static str, u64)) {
                match self {
                    $(State::$variant(t) => t.each(f),)*
                    State::Recorded(thread) => thread.inner().counters(f),
                }
            }
        }
    };
    (@each $variants:tt $($(#[$doc:meta])* $method:ident($($arg:ident: $type:ty),*);)*) => {
        $(detectors!(@one $variants $(#[$doc])* $method($($arg: $type),*));)*
    };
    (@one [$($variant:ident)*] $(#[$doc:meta])* $method:ident $args:tt) => {
        detectors!(@method [$($variant)*] $(#[$doc])* $method $args);
    };
    (@method [$($variant:ident)*] $(#[$doc:meta])* $method:ident($($arg:ident: $type:ty),*)) => {
        $(#[$doc])*
        #[inline]
        pub fn $method(&self, thread: &mut State, $($arg: $type),*) {
            detectors!(@dispatch self thread $method ($($arg),*) [$($variant)*])
        }
    };
    (@dispatch $self:ident $thread:ident $method:ident $args:tt [$($variant:ident)*]) => {
        match ($self, $thread) {
            $((Analysis::$variant(d), State::$variant(t)) =>
                detectors!(@call d t $method $args),)*
            (Analysis::Recorded(recording), State::Recorded(thread)) =>
                detectors!(@recorded recording thread $method $args),
            _ => {}
        }
    };
    (@call $d:ident $t:ident $method:ident ($($arg:ident),*)) => {
        $d.$method($t, $($arg,)* &mut found)
    };
    (@recorded $recording:ident $t:ident $method:ident ($($arg:ident),*)) => {
        $recording.$method($t, $($arg),*)
    };
}

detectors! {
    "fasttrack" => FastTrack(engine::FastTrack) = |_| engine::FastTrack::default();
    "djit" => Djit(engine::Djit) = |_| engine::Djit::default();
    "slimstate" => SlimState(SlimState) = |options| SlimState::new(engine::slimstate::Options {
        thrifty: true,
        history: options.stats,
        ..Default::default()
    });
    "slimstate-bb" => SlimStateBb(SlimStateBb) = |options| SlimStateBb::new(engine::slimstate::Options {
        frugal: true,
        thrifty: true,
        history: options.stats,
        ..Default::default()
    });
    "rex" => Rex(Rex<engine::FastTrack, OwnThread>) =
        |_| Rex::new(engine::FastTrack::default(), OwnThread::new(Locks::Order));
    "rex-lockset" => RexLockset(Rex<engine::FastTrack, OwnThread>) =
        |_| Rex::new(engine::FastTrack::default(), OwnThread::new(Locks::Held));
    "pacer" => Pacer(Pacer) = |options| Pacer::new(Some(options.rate), options.seed);
}

/// A thread was made: if that was one too many, the process ends, rather than say what is not so.
fn live_on(detector: &impl Detector) {
    if detector.exhausted() {
        sys::die(&alloc::format!(
            "more than {} threads are alive, or ended without anybody waiting for them; no more can be told apart",
            engine::Limits::CELL.slots
        ));
    }
}

impl Analysis {
    /// The bracket of the atomic operation on `addr` that the thread is about to make. If it has to wait for others that need none, `op` says which it is.
    #[inline(always)]
    pub fn bracket(
        &self,
        thread: &State,
        addr: Addr,
        op: impl FnOnce() -> AtomicOp,
    ) -> Bracket<'_> {
        let (log, order) = match self {
            Analysis::FastTrack(detector) => (None, detector.order()),
            _ => self.log_and_order(),
        };
        let mut of = order.bracket(addr);
        if of.is_biased()
            && let Some(clock) = thread.clock()
        {
            order.expect(clock, &mut of, op());
        }
        Bracket { log, of }
    }

    #[inline(never)]
    fn log_and_order(&self) -> (Option<Guard<'_, Log>>, &HappensBefore) {
        let log = match self {
            Analysis::Recorded(recording) => Some(recording.log()),
            _ => None,
        };
        (log, self.order())
    }

    /// See [`Detector::bracketed`]. Returns which operations the thread may make from now on without a bracket, if any.
    pub fn bracketed<'a>(
        &self,
        thread: &mut State,
        bracket: &mut Bracket<'a>,
        size: u32,
        op: AtomicOp,
        site: Site,
    ) -> Option<Repeats<'a>> {
        self.bracketed_any(thread, bracket, size, op, site);
        let clock = thread.clock()?;
        self.order().repeats(clock, &mut bracket.of, size, op)
    }

    /// What the detector will look at for an atomic access to the word at `location` beside it, as far as can be told.
    #[inline(always)]
    pub fn near(&self, location: &Location) -> *const () {
        match self {
            Analysis::FastTrack(detector) => location.near(detector.shadow().depot()),
            _ => self.near_any(location),
        }
    }

    #[inline(never)]
    fn near_any(&self, location: &Location) -> *const () {
        match self {
            Analysis::FastTrack(detector) => location.near(detector.shadow().depot()),
            Analysis::Djit(detector) => location.near(detector.shadow().depot()),
            Analysis::SlimState(detector) => location.near(detector.depot()),
            Analysis::SlimStateBb(detector) => location.near(detector.depot()),
            _ => core::ptr::null(),
        }
    }

    /// The location of the word at `addr` if it has one of its own, for detectors that the inlined checks know.
    #[inline]
    pub fn location(&self, addr: Addr) -> Option<&Location> {
        match self {
            Analysis::FastTrack(detector) => detector.shadow().split_location(addr),
            Analysis::Djit(detector) => detector.shadow().split_location(addr),
            Analysis::SlimState(detector) => detector.split_location(addr),
            Analysis::SlimStateBb(detector) => detector.split_location(addr),
            _ => None,
        }
    }
}

impl Analysis {
    /// Calls `f` with where such locations are, a page at a time, for all words of the pages of `len` bytes at `addr` of which nothing is remembered. They are zeroes.
    pub fn each_untouched(&self, addr: Addr, len: u64, mut f: impl FnMut(Range<usize>)) {
        let f = |page: &Page<Location>| {
            let Range { start, end } = page.as_ptr_range();
            f(start as usize..end as usize);
        };
        let detector = match self {
            Analysis::Recorded(recording) => recording.inner(),
            detector => detector,
        };
        match detector {
            Analysis::FastTrack(detector) => detector.shadow().each_untouched(addr, len, f),
            Analysis::Djit(detector) => detector.shadow().each_untouched(addr, len, f),
            Analysis::SlimState(detector) => detector.each_untouched(addr, len, f),
            Analysis::SlimStateBb(detector) => detector.each_untouched(addr, len, f),
            _ => {}
        }
    }

    /// Where the stubs find the pages that have such locations; null if there are none for them.
    pub fn pages(&self) -> *const () {
        match self {
            Analysis::FastTrack(detector) => detector.shadow().split_root(),
            Analysis::Djit(detector) => detector.shadow().split_root(),
            Analysis::SlimState(detector) => detector.split_root(),
            Analysis::SlimStateBb(detector) => detector.split_root(),
            _ => core::ptr::null(),
        }
    }

    /// Where the states outside are of locations that the stubs record in.
    pub fn depot(&self) -> Option<&Depot> {
        match self {
            Analysis::FastTrack(detector) => Some(detector.shadow().depot()),
            _ => None,
        }
    }

    /// Where the numbers are that change when memory is made fresh of which a check is put off; null if none ever is.
    pub fn renewed(&self) -> *const () {
        let renewed = match self {
            Analysis::FastTrack(detector) => detector.shadow().renewed(),
            _ => None,
        };
        renewed.map_or(core::ptr::null(), Renewed::table)
    }

    /// The locations of a block, of detectors whose shadow knows no blocks.
    pub fn census(&self, addr: Addr, bytes: u64) -> Option<Census> {
        match self {
            Analysis::FastTrack(detector) => Some(detector.shadow().census(addr, bytes)),
            Analysis::Djit(detector) => Some(detector.shadow().census(addr, bytes)),
            Analysis::Recorded(recording) => recording.inner().census(addr, bytes),
            _ => None,
        }
    }

    /// The same detector, with every event written to a file in `directory`.
    pub fn recorded(self, detector: &str, directory: &str) -> Self {
        Analysis::Recorded(Recording::new(self, detector, directory))
    }

    /// `other` came to its end without an event of its own, and all it did is in the past of `thread`.
    pub fn bury(&self, thread: &mut State, other: &mut State) {
        if let Analysis::Recorded(recording) = self
            && let (State::Recorded(thread), State::Recorded(other)) = (&mut *thread, &mut *other)
        {
            recording.bury(thread, other);
            return;
        }
        self.end(other);
        self.join(thread, other);
    }

    /// Are checks put off, so that a thread has some to make yet?
    pub fn puts_off(&self) -> bool {
        match self {
            Analysis::SlimState(_) | Analysis::SlimStateBb(_) => true,
            Analysis::FastTrack(detector) => detector.puts_off(),
            Analysis::Recorded(recording) => recording.puts_off(),
            _ => false,
        }
    }

    /// Makes the checks that were put off, for a thread that may never make them itself.
    pub fn settle(&self, thread: &mut State) {
        match (self, thread) {
            (Analysis::FastTrack(detector), State::FastTrack(thread)) => {
                detector.settle(thread, &mut found);
            }
            (Analysis::SlimState(detector), State::SlimState(thread)) => {
                detector.settle(thread, &mut found);
            }
            (Analysis::SlimStateBb(detector), State::SlimStateBb(thread)) => {
                detector.settle(thread, &mut found);
            }
            (Analysis::Recorded(recording), State::Recorded(thread)) => recording.settle(thread),
            _ => {}
        }
    }

    /// The number of `site` in the thread's slot, for the detector whose common case is inlined.
    pub fn number(&self, thread: &mut State, site: Site) -> Option<(Slot, u32)> {
        let (order, clock) = match (self, thread) {
            (Analysis::FastTrack(detector), State::FastTrack(thread)) => {
                (detector.order(), &mut thread.clock)
            }
            (Analysis::SlimState(detector), State::SlimState(thread)) => {
                (detector.order(), thread.clock())
            }
            (Analysis::SlimStateBb(detector), State::SlimStateBb(thread)) => {
                (detector.order(), thread.clock())
            }
            _ => return None,
        };
        let (_, number) = clock.stamp(order.slots(), site);
        Some((clock.numbering()?, number))
    }

    /// The order of the events, the shadow by word and the thread's part of it, if the thread knows that the memory at `addr` has no other.
    #[inline(always)]
    pub fn by_word<'a>(
        &self,
        thread: &'a mut State,
        addr: Addr,
    ) -> Option<(
        &HappensBefore,
        &Shadow<FastTrackRule>,
        &'a mut PreciseThread,
    )> {
        match (self, thread) {
            (Analysis::FastTrack(detector), State::FastTrack(thread)) => {
                Some((detector.order(), detector.shadow(), thread))
            }
            (Analysis::SlimState(detector), State::SlimState(thread)) => {
                let (shadow, thread) = detector.by_word(thread, addr)?;
                Some((detector.order(), shadow, thread))
            }
            (Analysis::SlimStateBb(detector), State::SlimStateBb(thread)) => {
                let (shadow, thread) = detector.by_word(thread, addr)?;
                Some((detector.order(), shadow, thread))
            }
            _ => None,
        }
    }

    /// As [`Analysis::by_word`], right after that said yes.
    #[inline(always)]
    pub fn by_word_still<'a>(
        &self,
        thread: &'a mut State,
    ) -> Option<(
        &HappensBefore,
        &Shadow<FastTrackRule>,
        &'a mut PreciseThread,
    )> {
        match (self, thread) {
            (Analysis::FastTrack(detector), State::FastTrack(thread)) => {
                Some((detector.order(), detector.shadow(), thread))
            }
            (Analysis::SlimState(detector), State::SlimState(thread)) => {
                let (shadow, thread) = detector.by_word_still(thread);
                Some((detector.order(), shadow, thread))
            }
            (Analysis::SlimStateBb(detector), State::SlimStateBb(thread)) => {
                let (shadow, thread) = detector.by_word_still(thread);
                Some((detector.order(), shadow, thread))
            }
            _ => None,
        }
    }

    /// Nobody uses the lock, channel or barrier of that name any more; the next one there is a new one.
    pub fn forget(&self, id: SyncId) {
        match self {
            Analysis::FastTrack(detector) => detector.order().forget(id),
            Analysis::Djit(detector) => detector.order().forget(id),
            Analysis::SlimState(detector) => detector.order().forget(id),
            Analysis::SlimStateBb(detector) => detector.order().forget(id),
            Analysis::Recorded(recording) => recording.forget(id),
            // The others keep more than clocks under that name.
            _ => {}
        }
    }
}

impl State {
    /// Has the thread checks to make before its clock changes, of a detector for which some atomic operations are no events?
    #[inline(always)]
    pub fn puts_off(&self) -> bool {
        match self {
            State::FastTrack(thread) => thread.puts_off(),
            _ => false,
        }
    }

    /// The bits of the thread's epoch, for the inlined checks.
    #[inline]
    pub fn epoch(&self) -> u64 {
        match self {
            State::FastTrack(thread) | State::Djit(thread) => thread.clock.epoch().bits(),
            State::SlimState(thread) => thread.epoch().bits(),
            State::SlimStateBb(thread) => thread.epoch().bits(),
            _ => Epoch::NEVER.bits(),
        }
    }

    /// What the thread knows of states outside, for detectors whose locations the inlined checks know.
    pub fn settled(&self) -> Option<&Entries> {
        match self {
            State::FastTrack(thread) | State::Djit(thread) => Some(thread.memo.settled()),
            State::SlimState(thread) => Some(thread.settled()),
            State::SlimStateBb(thread) => Some(thread.settled()),
            _ => None,
        }
    }

    /// The counts of rules, of the detectors whose accesses the stubs record themselves.
    pub fn counts(&self) -> Option<&[AtomicU64]> {
        match self {
            State::FastTrack(thread) => Some(thread.counts.entries()),
            State::SlimState(thread) => Some(thread.counts()),
            State::SlimStateBb(thread) => Some(thread.counts()),
            _ => None,
        }
    }

    /// The clock of a thread with such a detector.
    #[inline]
    pub fn recorded_by_stubs(&self) -> Option<&ThreadClock> {
        match self {
            State::FastTrack(thread) => Some(&thread.clock),
            State::SlimState(thread) => Some(thread.now()),
            State::SlimStateBb(thread) => Some(thread.now()),
            _ => None,
        }
    }

    /// The thread's clock, of detectors for which atomic operations that change nothing are no events.
    #[inline]
    pub fn clock(&self) -> Option<&ThreadClock> {
        match self {
            State::FastTrack(thread) | State::Djit(thread) => Some(&thread.clock),
            _ => None,
        }
    }

    /// Tells the inlined checks where the thread is, after any event of its.
    #[inline]
    pub fn show(&self, own: &tls::Block) {
        // All that is asked of the state comes first: so it is asked once which it is.
        let epoch = self.epoch();
        let stretch = self.clock().map(|clock| abi::hot::stretch(clock.stretch()));
        own.epoch.store(epoch, Ordering::Relaxed);
        own.idle.store(0, Ordering::Relaxed);
        if let Some(stretch) = stretch {
            own.stretch.store(stretch, Ordering::Relaxed);
        }
    }
}
