//! `record=DIRECTORY`: every event goes into a log before the detector sees it.
//!
//! One lock is held for both steps, so the log's order is the very order in which the detector was told, and the verdict
//! of the run can be had again from the log. Threads take turns for that; a recorded run is slower, not different.
//! The inlined checks know nothing of a recorded program's shadow, so that accesses they would have
//! skipped are events, too.
//!
//! The log is a file that is mapped piece by piece: what was stored is in the file, whatever happens to the process.
//! A piece is reserved on the disk before it is mapped; if there is no room, recording ends there and says so.

use alloc::boxed::Box;
use alloc::ffi::CString;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU8, Ordering};

use abi::Told;
use engine::SyncOp;
use engine::detector::{Access, AtomicOp};
use event::{AccessKind, Addr, Elements, Event, Op, Site, SyncId, Tid};
use report::recording::{self, Encoder};
use report::{Block, Process};

use crate::analysis::{Analysis, Bracket, State};
use crate::lock::{Guard, Spin};
use crate::thread::{self, Thread};
use crate::{modules, registry, site, sys};

const PAGE: usize = 4096;
/// Bytes of a piece.
const PIECE: usize = 1 << 20;

/// A detector whose events are written down.
#[derive(Debug)]
pub struct Recording {
    inner: Analysis,
    log: Spin<Log>,
}

/// A thread of it.
#[derive(Debug)]
pub struct Recorded {
    tid: Tid,
    /// What its checks are at the moment.
    told: Told,
    /// Its last atomic operation, and whether it was the same as the one before.
    last: Option<Op>,
    polls: bool,
    inner: State,
}

/// The file, and where it has got to.
#[derive(Debug)]
pub struct Log {
    detector: String,
    directory: String,
    path: String,
    fd: i32,
    /// The mapped piece; null before the first and after the last.
    piece: *mut u8,
    bytes: usize,
    /// Where in the piece the next item goes.
    at: usize,
    /// Where in the file the piece begins.
    offset: usize,
    encoder: Encoder,
    /// The item that is being made.
    item: Vec<u8>,
    /// Sites that the log knows, a bit for each.
    sites: Vec<u64>,
    modules: u64,
    failed: bool,
}

// SAFETY: the piece is the log's own; the log is behind a lock.
unsafe impl Send for Log {}

impl Log {
    fn new(detector: &str, directory: &str) -> Self {
        Log {
            detector: detector.to_string(),
            directory: directory.to_string(),
            path: String::new(),
            fd: -1,
            piece: core::ptr::null_mut(),
            bytes: 0,
            at: 0,
            offset: 0,
            encoder: Encoder::new(),
            item: Vec::new(),
            sites: Vec::new(),
            modules: 0,
            failed: false,
        }
    }

    /// A file of our own, whatever became of others with our number: `exec` keeps it.
    fn create(&mut self) -> bool {
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
        for again in 0..10_000 {
            let path = format!("{}/{}.{again}.frl", self.directory, sys::pid());
            let Ok(name) = CString::new(path.as_str()) else {
                return false;
            };
            match sys::open(&name, flags, 0o644) {
                Ok(fd) => {
                    self.fd = sys::out_of_the_way(fd);
                    self.path = path;
                    return true;
                }
                Err(sys::Errno(libc::EEXIST)) => {}
                Err(_) => return false,
            }
        }
        false
    }

    /// The program closed our descriptor; the file is still there.
    fn reopen(&mut self) -> bool {
        let flags = libc::O_RDWR | libc::O_CLOEXEC;
        let fd = CString::new(self.path.as_str()).map(|name| sys::open(&name, flags, 0));
        let Ok(Ok(fd)) = fd else { return false };
        self.fd = sys::out_of_the_way(fd);
        true
    }

    /// Maps the next piece, with room for `bytes` behind what is written.
    fn advance(&mut self, bytes: usize) -> bool {
        if self.fd < 0 && !self.create() {
            return false;
        }
        let end = self.offset + self.at;
        let offset = end & !(PAGE - 1);
        let length = PIECE.max((bytes + PAGE).next_multiple_of(PAGE));
        self.unmap();
        let mut piece = sys::map_file(self.fd, offset, length);
        if piece.is_none() && self.reopen() {
            piece = sys::map_file(self.fd, offset, length);
        }
        let Some(piece) = piece else { return false };
        self.piece = piece;
        (self.offset, self.at, self.bytes) = (offset, end - offset, length);
        true
    }

    fn unmap(&mut self) {
        if !self.piece.is_null() {
            // SAFETY: mapped by `advance`; nobody else knows it.
            unsafe { sys::unmap(self.piece, self.bytes) };
            self.piece = core::ptr::null_mut();
            self.bytes = 0;
        }
    }

    /// Puts what is in `item` into the file: its first byte last, since that makes it count.
    fn commit(&mut self) {
        let length = self.item.len();
        if length == 0 || self.failed {
            self.item.clear();
            return;
        }
        if self.at + length > self.bytes && !self.advance(length) {
            self.failed = true;
            self.item.clear();
            sys::write_all(
                2,
                b"footrace: the recording ends here: its file cannot grow; is the disk full?\n",
            );
            return;
        }
        let to = self.piece.wrapping_add(self.at);
        let (from, behind) = (self.item.as_ptr().wrapping_add(1), to.wrapping_add(1));
        // SAFETY: `at + length` is within the piece, which is the kernel's, not the item's.
        unsafe { core::ptr::copy_nonoverlapping(from, behind, length - 1) };
        // SAFETY: as above; a byte is aligned.
        let first = unsafe { AtomicU8::from_ptr(to) };
        first.store(self.item[0], Ordering::Release);
        self.at += length;
        self.item.clear();
    }

    fn begin(&mut self) {
        let process = Block::Process(Process {
            pid: sys::pid(),
            parent: sys::parent_pid(),
            detector: self.detector.clone(),
            executable: modules::executable(),
        });
        recording::facts(&mut self.item, &process);
        self.commit();
    }

    /// The log must know a site before an event names it.
    fn meet(&mut self, site: Site) {
        let (word, bit) = (site.0 as usize / 64, 1 << (site.0 % 64));
        if self.sites.get(word).is_some_and(|known| known & bit != 0) {
            return;
        }
        if word >= self.sites.len() {
            self.sites.resize(word + 1, 0);
        }
        self.sites[word] |= bit;
        let changes = modules::changes();
        if changes != self.modules {
            self.modules = changes;
            recording::facts(&mut self.item, &Block::Modules(modules::list()));
            self.commit();
        }
        let frames = site::frames(site::stack_of(site));
        recording::site(&mut self.item, site, &frames);
        self.commit();
    }

    /// An access, or a check, or both.
    fn plain(&mut self, thread: &Recorded, op: Op, site: Site) {
        if thread.told != Told::Both {
            recording::told(&mut self.item, thread.told);
            self.commit();
        }
        self.event(thread.tid, op, site);
    }

    fn event(&mut self, thread: Tid, op: Op, site: Site) {
        self.meet(site);
        let event = Event { thread, op, site };
        self.encoder.event(&mut self.item, &event);
        self.commit();
    }
}

#[unsafe(no_mangle)]
extern "C" fn __footrace_told(told: u32) {
    thread::with(|thread, _| {
        if let (State::Recorded(recorded), Some(told)) = (&mut thread.state, Told::of(told.into()))
        {
            recorded.told = told;
        }
    });
}

fn atomic_op(addr: Addr, size: u32, op: AtomicOp) -> Op {
    match op {
        AtomicOp::Load(order) => Op::Load { addr, size, order },
        AtomicOp::Store(order) => Op::Store { addr, size, order },
        AtomicOp::Rmw(order) => Op::Rmw { addr, size, order },
    }
}

fn sync_op(op: SyncOp) -> Op {
    match op {
        SyncOp::Acquire(id) => Op::Acquire(id),
        SyncOp::Release(id) => Op::Release(id),
        SyncOp::ReadAcquire(id) => Op::ReadAcquire(id),
        SyncOp::ReadRelease(id) => Op::ReadRelease(id),
        SyncOp::VolatileRead(id) => Op::VolatileRead(id),
        SyncOp::VolatileWrite(id) => Op::VolatileWrite(id),
        SyncOp::Send(id) => Op::Send(id),
        SyncOp::Receive(id) => Op::Receive(id),
        SyncOp::Arrive(id) => Op::Arrive(id),
        SyncOp::Depart(id) => Op::Depart(id),
        SyncOp::Fence(order) => Op::Fence(order),
    }
}

macro_rules! events {
    ($($(#[$doc:meta])* $method:ident($($arg:ident: $type:ty),*) = $op:expr, $site:expr;)*) => {$(
        $(#[$doc])*
        pub fn $method(&self, thread: &mut Recorded, $($arg: $type),*) {
            let mut log = self.log.lock();
            log.event(thread.tid, $op, $site);
            self.inner.$method(&mut thread.inner, $($arg),*);
        }
    )*};
}

impl Recording {
    /// `inner`, with what it is told written to a file in `directory`.
    pub fn new(inner: Analysis, detector: &str, directory: &str) -> Box<Self> {
        let mut log = Log::new(detector, directory);
        log.begin();
        Box::new(Recording {
            inner,
            log: Spin::new(log),
        })
    }

    /// The detector itself.
    pub fn inner(&self) -> &Analysis {
        &self.inner
    }

    /// See [`engine::Detector::root`].
    pub fn root(&self, tid: Tid) -> Box<Recorded> {
        let _log = self.log.lock();
        Recorded::new(tid, self.inner.root(tid))
    }

    /// See [`engine::Detector::fork`].
    pub fn fork(&self, parent: &mut Recorded, tid: Tid) -> Box<Recorded> {
        let mut log = self.log.lock();
        let created = registry::info(tid).map_or(Site(0), |info| info.created);
        log.event(parent.tid, Op::Fork(tid), created);
        Recorded::new(tid, self.inner.fork(&mut parent.inner, tid))
    }

    /// See [`engine::Detector::join`].
    pub fn join(&self, thread: &mut Recorded, child: &mut Recorded) {
        let mut log = self.log.lock();
        log.event(thread.tid, Op::Join(child.tid), Site(0));
        self.inner.join(&mut thread.inner, &mut child.inner);
    }

    events! {
        /// See [`engine::Detector::end`].
        end() = Op::End, Site(0);
        /// See [`engine::Detector::alloc`].
        alloc(addr: Addr, elem: u8, len: u64, site: Site) = Op::Alloc { addr, elem, len }, site;
        /// See [`engine::Detector::renew`].
        renew(addr: Addr, bytes: u64) = Op::Alloc { addr, elem: 1, len: bytes }, Site(0);
        /// See [`engine::Detector::sync`].
        sync(op: SyncOp) = sync_op(op), Site(0);
    }

    /// See [`engine::Detector::access`].
    pub fn access(&self, thread: &mut Recorded, access: Access) {
        let Access {
            kind,
            addr,
            size,
            site,
        } = access;
        let mut log = self.log.lock();
        log.plain(thread, Op::Access { kind, addr, size }, site);
        if thread.told != Told::Access {
            self.inner.access(&mut thread.inner, access);
        }
    }

    /// See [`engine::Detector::range`].
    pub fn range(&self, thread: &mut Recorded, kind: AccessKind, elements: Elements, site: Site) {
        let mut log = self.log.lock();
        log.plain(thread, Op::Range { kind, elements }, site);
        if thread.told != Told::Access {
            self.inner.range(&mut thread.inner, kind, elements, site);
        }
    }

    /// The log, held.
    pub fn log(&self) -> Guard<'_, Log> {
        self.log.lock()
    }

    /// See [`engine::Detector::bracketed`].
    pub fn bracketed(
        &self,
        thread: &mut Recorded,
        bracket: &mut Bracket<'_>,
        size: u32,
        op: AtomicOp,
        site: Site,
    ) {
        let event = atomic_op(bracket.of.addr(), size, op);
        if let Some(log) = &mut bracket.log {
            log.event(thread.tid, event, site);
        }
        thread.polls = thread.last.replace(event) == Some(event);
        self.inner
            .bracketed_any(&mut thread.inner, bracket, size, op, site);
    }

    /// See [`engine::Detector::free`].
    pub fn free(&self, thread: &mut Recorded, addr: Addr, bytes: u64, site: Site) {
        let mut log = self.log.lock();
        log.meet(site);
        let log = &mut *log;
        log.encoder
            .freed(&mut log.item, thread.tid, addr, bytes, site);
        log.commit();
        self.inner.free(&mut thread.inner, addr, bytes, site);
    }

    /// See [`Analysis::forget`].
    pub fn forget(&self, id: SyncId) {
        let mut log = self.log.lock();
        recording::forgotten(&mut log.item, id);
        log.commit();
        self.inner.forget(id);
    }

    /// The thread has a name.
    pub fn named(&self, tid: Tid, name: &str) {
        let mut log = self.log.lock();
        recording::named(&mut log.item, tid, name);
        log.commit();
    }

    /// In the child of a fork: a log of its own. What happened before the copy is in the past of all that comes, so the log
    /// begins here, with what the thread holds.
    pub fn forked(&self, thread: &Thread) {
        let mut log = self.log.lock();
        log.unmap();
        if log.fd >= 0 {
            sys::close(log.fd);
        }
        *log = Log::new(&log.detector, &log.directory);
        log.begin();
        for (lock, shared) in thread.held() {
            let op = if shared {
                Op::ReadAcquire(lock)
            } else {
                Op::Acquire(lock)
            };
            log.event(thread.tid, op, Site(0));
        }
    }

    /// Are checks put off?
    pub fn puts_off(&self) -> bool {
        self.inner.puts_off()
    }

    /// Makes the checks that were put off. That is no event.
    pub fn settle(&self, thread: &mut Recorded) {
        self.inner.settle(&mut thread.inner);
    }

    /// In the child of a fork: `other` does not exist there, and what it did is in the past of `thread`. That is no event.
    pub fn bury(&self, thread: &mut Recorded, other: &mut Recorded) {
        self.inner.bury(&mut thread.inner, &mut other.inner);
    }
}

/// In the child of a fork, before its first event.
pub fn forked(thread: &Thread) {
    if let Some(runtime) = thread::runtime()
        && let Analysis::Recorded(recording) = &runtime.analysis
    {
        recording.forked(thread);
    }
}

/// A thread is called `name` from now on.
pub fn named(tid: Tid, name: &str) {
    if let Some(runtime) = thread::runtime()
        && let Analysis::Recorded(recording) = &runtime.analysis
    {
        recording.named(tid, name);
    }
}

impl Recorded {
    fn new(tid: Tid, inner: State) -> Box<Recorded> {
        Box::new(Recorded {
            tid,
            told: Told::Both,
            last: None,
            polls: false,
            inner,
        })
    }

    /// To be called when an atomic operation is over: a thread that waits for another one, operation by operation, lets it have the
    /// processor, so that it gets to the log and the log does not fill with the waiting.
    pub fn give_way(&self) {
        if self.polls {
            sys::yield_now();
        }
    }

    /// The detector's own part.
    pub fn inner(&self) -> &State {
        &self.inner
    }
}
