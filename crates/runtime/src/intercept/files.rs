//! Pipes, sockets and eventfds carry messages; reads and writes touch buffers.
//!
//! Both ends of a channel must have the same name. A pipe's is its inode; a TCP connection's is the pair of
//! its addresses; those of a socketpair and of an eventfd are given out when they are made. What a descriptor is called is
//! remembered until it is closed.
//!
//! A number that was closed and is given out again orders, too: who gets it knows that whoever closed it is done with it, and servers
//! keep what belongs to a connection under its number.
//!
//! When the last descriptor of a name is closed, what was sent may still be received: by a connection that was made but
//! not yet accepted, or a pipe's end that was not used yet. The name is kept among the last [`RETIRED`] ones, then its channel is forgotten.

use alloc::collections::BTreeMap;
use core::ffi::{c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU64, Ordering};

use engine::SyncOp;
use event::SyncId;

use super::{reads, sync, writes};
use crate::lock::Spin;
use crate::real::interceptors;
use crate::table::mix;
use crate::{sys, thread};

type Buffer = *mut c_void;
type Text = *const c_char;

const DESCRIPTORS: usize = 1 << 16;
const UNKNOWN: u64 = 0;
/// A file, or anything else that hands nothing on.
const NO_CHANNEL: u64 = 1;
/// Keeps names of channels apart from addresses of semaphores.
const CHANNEL: u64 = 0x4346 << 48;

static NAMES: [AtomicU64; DESCRIPTORS] = [const { AtomicU64::new(UNKNOWN) }; DESCRIPTORS];
static NEXT: AtomicU64 = AtomicU64::new(1);

fn name(parts: u64) -> u64 {
    CHANNEL | (parts & 0xFFFF_FFFF_FFFF)
}

fn fresh() -> u64 {
    name(mix(NEXT.fetch_add(1, Ordering::Relaxed), 1))
}

/// More than a listening socket has waiting, by far.
const RETIRED: usize = 1024;

/// Names in use.
#[derive(Debug)]
struct InUse {
    /// How many descriptors a name has.
    descriptors: BTreeMap<u64, u32>,
    /// The names that lost their last descriptor lately, as a ring.
    retired: [u64; RETIRED],
    next: usize,
}

static IN_USE: Spin<InUse> = Spin::new(InUse {
    descriptors: BTreeMap::new(),
    retired: [UNKNOWN; RETIRED],
    next: 0,
});

impl InUse {
    fn add(&mut self, name: u64) {
        *self.descriptors.entry(name).or_default() += 1;
    }

    /// A descriptor goes. Returns a name that nobody can mean any more.
    fn remove(&mut self, name: u64) -> Option<u64> {
        let count = self.descriptors.get_mut(&name)?;
        *count -= 1;
        if *count > 0 {
            return None;
        }
        self.descriptors.remove(&name);
        let old = core::mem::replace(&mut self.retired[self.next], name);
        self.next = (self.next + 1) % RETIRED;
        let is_back = self.descriptors.contains_key(&old) || self.retired.contains(&old);
        (old != UNKNOWN && !is_back).then_some(old)
    }
}

fn set(fd: c_int, name: u64) {
    let Some(entry) = usize::try_from(fd).ok().and_then(|fd| NAMES.get(fd)) else {
        return;
    };
    if entry.load(Ordering::Relaxed) == name {
        return;
    }
    thread::with(|_, runtime| {
        let old = entry.swap(name, Ordering::Relaxed);
        let mut in_use = IN_USE.lock();
        if name > NO_CHANNEL {
            in_use.add(name);
        }
        let gone = (old > NO_CHANNEL).then(|| in_use.remove(old)).flatten();
        drop(in_use);
        if let Some(gone) = gone {
            runtime.analysis.forget(SyncId(gone));
        }
    });
}

fn get(fd: c_int) -> u64 {
    let entry = usize::try_from(fd).ok().and_then(|fd| NAMES.get(fd));
    entry.map_or(NO_CHANNEL, |entry| entry.load(Ordering::Relaxed))
}

/// An end of a socket as a number, if it has an address.
fn end(number: i64, fd: c_int) -> Option<(u16, u64)> {
    let mut address = [0u8; 128];
    let mut length: u32 = 128;
    let args = [
        fd as usize,
        address.as_mut_ptr() as usize,
        (&raw mut length) as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel writes at most `length` bytes.
    unsafe { sys::syscall(number, args) }.ok()?;
    let family = u16::from_le_bytes([address[0], address[1]]);
    // Port and address, without scope and padding.
    let used = match i32::from(family) {
        libc::AF_INET => 8,
        libc::AF_INET6 => 24,
        _ => 2,
    };
    let mut hash = 1;
    for &byte in &address[..used] {
        hash = mix(hash, u64::from(byte) + 1);
    }
    Some((family, hash))
}

fn connection(fd: c_int) -> u64 {
    let here = end(libc::SYS_getsockname, fd);
    let there = end(libc::SYS_getpeername, fd);
    match (here, there) {
        // The same for both ends.
        (Some((family, a)), Some((_, b))) if i32::from(family) != libc::AF_UNIX => {
            name(mix(a.min(b), a.max(b)))
        }
        // Others can't be told apart from here: one channel for each family.
        (Some((family, _)), _) => name(mix(u64::from(family) + 7, 7)),
        _ => NO_CHANNEL,
    }
}

fn resolve_name(fd: c_int) -> u64 {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    let args = [fd as usize, status.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: the kernel fills the structure.
    if unsafe { sys::syscall(libc::SYS_fstat, args) }.is_err() {
        return UNKNOWN;
    }
    // SAFETY: filled just now.
    let status = unsafe { status.assume_init() };
    match status.st_mode & libc::S_IFMT {
        libc::S_IFIFO => name(mix(status.st_ino + 1, status.st_dev + 2)),
        libc::S_IFSOCK => connection(fd),
        _ => NO_CHANNEL,
    }
}

fn channel(fd: c_int) -> Option<SyncId> {
    let mut known = get(fd);
    if known == UNKNOWN {
        known = resolve_name(fd);
        // An unconnected socket may still get its name.
        if known != NO_CHANNEL || fd > 2 {
            set(fd, known);
        }
    }
    (known > NO_CHANNEL).then_some(SyncId(known))
}

/// A message goes out.
fn transmit(fd: c_int) {
    if let Some(channel) = channel(fd) {
        sync(SyncOp::Send(channel));
    }
}

fn receive(fd: c_int, result: isize) -> isize {
    // 0 is the end of the stream, which the other side caused by closing it.
    if result >= 0
        && let Some(channel) = channel(fd)
    {
        sync(SyncOp::Receive(channel));
    }
    result
}

/// Something was read into `buffer`.
fn filled(fd: c_int, buffer: Buffer, result: isize, pc: usize) -> isize {
    receive(fd, result);
    if result > 0 {
        writes(buffer, result as usize, pc);
    }
    result
}

/// Each piece of a gathered or scattered transfer, up to `total` bytes.
fn pieces(vector: *const libc::iovec, count: c_int, mut total: usize, f: impl Fn(Buffer, usize)) {
    for at in 0..count.max(0) as usize {
        // SAFETY: the program gave `count` pieces.
        let piece = unsafe { *vector.wrapping_add(at) };
        let bytes = piece.iov_len.min(total);
        f(piece.iov_base, bytes);
        total -= bytes;
    }
}

fn message(message: *const libc::msghdr) -> (*const libc::iovec, c_int) {
    // SAFETY: the program's message.
    let message = unsafe { &*message };
    (message.msg_iov, message.msg_iovlen as c_int)
}

fn copied(from: c_int, to: c_int) -> c_int {
    if to >= 0 {
        given(to);
        set(to, get(from));
    }
    to
}

/// From who closed a number to who gets it next.
fn number(fd: c_int) -> SyncId {
    SyncId(0x4644 << 48 | u64::from(fd.unsigned_abs()))
}

/// The kernel gave out a number.
fn given(fd: c_int) {
    if fd >= 0 {
        sync(SyncOp::Receive(number(fd)));
    }
}

/// Descriptors that were just made.
fn made(fd: c_int, name: u64) -> c_int {
    if fd >= 0 {
        given(fd);
        set(fd, name);
    }
    fd
}

interceptors! {
    fn read(fd: c_int, buffer: Buffer, bytes: usize) -> isize = |real, pc| {
        filled(fd, buffer, real(fd, buffer, bytes), pc)
    }
    fn pread(fd: c_int, buffer: Buffer, bytes: usize, offset: i64) -> isize = |real, pc| {
        filled(fd, buffer, real(fd, buffer, bytes, offset), pc)
    }
    fn pread64(fd: c_int, buffer: Buffer, bytes: usize, offset: i64) -> isize = |real, pc| {
        filled(fd, buffer, real(fd, buffer, bytes, offset), pc)
    }
    fn recv(fd: c_int, buffer: Buffer, bytes: usize, flags: c_int) -> isize = |real, pc| {
        filled(fd, buffer, real(fd, buffer, bytes, flags), pc)
    }
    fn recvfrom(fd: c_int, buffer: Buffer, bytes: usize, flags: c_int, from: Buffer, length: Buffer) -> isize = |real, pc| {
        filled(fd, buffer, real(fd, buffer, bytes, flags, from, length), pc)
    }
    fn readv(fd: c_int, vector: *const libc::iovec, count: c_int) -> isize = |real, pc| {
        let result = receive(fd, real(fd, vector, count));
        pieces(vector, count, result.max(0) as usize, |at, bytes| writes(at, bytes, pc));
        result
    }
    fn recvmsg(fd: c_int, to: *mut libc::msghdr, flags: c_int) -> isize = |real, pc| {
        let result = receive(fd, real(fd, to, flags));
        let (vector, count) = message(to);
        pieces(vector, count, result.max(0) as usize, |at, bytes| writes(at, bytes, pc));
        result
    }
    fn write(fd: c_int, buffer: Buffer, bytes: usize) -> isize = |real, pc| {
        reads(buffer, bytes, pc);
        transmit(fd);
        real(fd, buffer, bytes)
    }
    fn pwrite(fd: c_int, buffer: Buffer, bytes: usize, offset: i64) -> isize = |real, pc| {
        reads(buffer, bytes, pc);
        real(fd, buffer, bytes, offset)
    }
    fn pwrite64(fd: c_int, buffer: Buffer, bytes: usize, offset: i64) -> isize = |real, pc| {
        reads(buffer, bytes, pc);
        real(fd, buffer, bytes, offset)
    }
    fn send(fd: c_int, buffer: Buffer, bytes: usize, flags: c_int) -> isize = |real, pc| {
        reads(buffer, bytes, pc);
        transmit(fd);
        real(fd, buffer, bytes, flags)
    }
    fn sendto(fd: c_int, buffer: Buffer, bytes: usize, flags: c_int, to: Buffer, length: u32) -> isize = |real, pc| {
        reads(buffer, bytes, pc);
        transmit(fd);
        real(fd, buffer, bytes, flags, to, length)
    }
    fn writev(fd: c_int, vector: *const libc::iovec, count: c_int) -> isize = |real, pc| {
        pieces(vector, count, usize::MAX, |at, bytes| reads(at, bytes, pc));
        transmit(fd);
        real(fd, vector, count)
    }
    fn sendmsg(fd: c_int, from: *const libc::msghdr, flags: c_int) -> isize = |real, pc| {
        let (vector, count) = message(from);
        pieces(vector, count, usize::MAX, |at, bytes| reads(at, bytes, pc));
        transmit(fd);
        real(fd, from, flags)
    }
    fn sendfile(to: c_int, from: c_int, offset: Buffer, bytes: usize) -> isize = |real, pc| {
        transmit(to);
        receive(from, real(to, from, offset, bytes))
    }
    fn splice(from: c_int, from_at: Buffer, to: c_int, to_at: Buffer, bytes: usize, flags: u32) -> isize = |real, pc| {
        transmit(to);
        receive(from, real(from, from_at, to, to_at, bytes, flags))
    }

    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, pair: *mut [c_int; 2]) -> c_int = |real, pc| {
        let result = real(domain, kind, protocol, pair);
        if result == 0 {
            writes(pair, size_of::<[c_int; 2]>(), pc);
            // SAFETY: libc has written both.
            let [a, b] = unsafe { *pair };
            let name = fresh();
            made(a, name);
            made(b, name);
        }
        result
    }
    fn pipe(pair: *mut [c_int; 2]) -> c_int = |real, pc| {
        piped(pair, real(pair), pc)
    }
    fn pipe2(pair: *mut [c_int; 2], flags: c_int) -> c_int = |real, pc| {
        piped(pair, real(pair, flags), pc)
    }
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int = |real, pc| {
        made(real(domain, kind, protocol), UNKNOWN)
    }
    fn accept(fd: c_int, address: Buffer, length: *mut u32) -> c_int = |real, pc| {
        made(real(fd, address, length), UNKNOWN)
    }
    fn accept4(fd: c_int, address: Buffer, length: *mut u32, flags: c_int) -> c_int = |real, pc| {
        made(real(fd, address, length, flags), UNKNOWN)
    }
    fn eventfd(value: u32, flags: c_int) -> c_int = |real, pc| {
        made(real(value, flags), fresh())
    }
    fn eventfd_read(fd: c_int, value: *mut u64) -> c_int = |real, pc| {
        let result = real(fd, value);
        if result == 0 {
            receive(fd, 8);
            writes(value, 8, pc);
        }
        result
    }
    fn eventfd_write(fd: c_int, value: u64) -> c_int = |real, pc| {
        transmit(fd);
        real(fd, value)
    }
    fn epoll_create(size: c_int) -> c_int = |real, pc| {
        made(real(size), fresh())
    }
    fn epoll_create1(flags: c_int) -> c_int = |real, pc| {
        made(real(flags), fresh())
    }
    fn epoll_ctl(fd: c_int, operation: c_int, target: c_int, event: Buffer) -> c_int = |real, pc| {
        // What was prepared for the event is ready for whoever gets it.
        transmit(fd);
        real(fd, operation, target, event)
    }
    fn epoll_wait(fd: c_int, events: Buffer, most: c_int, timeout: c_int) -> c_int = |real, pc| {
        ready(fd, events, real(fd, events, most, timeout), pc)
    }
    fn epoll_pwait(fd: c_int, events: Buffer, most: c_int, timeout: c_int, mask: Buffer) -> c_int = |real, pc| {
        ready(fd, events, real(fd, events, most, timeout, mask), pc)
    }
    fn epoll_pwait2(fd: c_int, events: Buffer, most: c_int, timeout: Buffer, mask: Buffer) -> c_int = |real, pc| {
        ready(fd, events, real(fd, events, most, timeout, mask), pc)
    }

    fn dup(fd: c_int) -> c_int = |real, pc| {
        copied(fd, real(fd))
    }
    fn dup2(from: c_int, to: c_int) -> c_int = |real, pc| {
        copied(from, real(from, to))
    }
    fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int = |real, pc| {
        copied(from, real(from, to, flags))
    }
    fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int = |real, pc| {
        duplicating(fd, command, real(fd, command, argument))
    }
    fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int = |real, pc| {
        duplicating(fd, command, real(fd, command, argument))
    }
    fn close(fd: c_int) -> c_int = |real, pc| {
        // The reader at the other end will see the end of the stream.
        transmit(fd);
        if fd >= 0 {
            sync(SyncOp::Send(number(fd)));
        }
        set(fd, UNKNOWN);
        real(fd)
    }
    fn open(path: Text, flags: c_int, mode: u32) -> c_int = |real, pc| {
        made(real(path, flags, mode), UNKNOWN)
    }
    fn open64(path: Text, flags: c_int, mode: u32) -> c_int = |real, pc| {
        made(real(path, flags, mode), UNKNOWN)
    }
    fn openat(directory: c_int, path: Text, flags: c_int, mode: u32) -> c_int = |real, pc| {
        made(real(directory, path, flags, mode), UNKNOWN)
    }
    fn openat64(directory: c_int, path: Text, flags: c_int, mode: u32) -> c_int = |real, pc| {
        made(real(directory, path, flags, mode), UNKNOWN)
    }
}

/// Both ends of a pipe have a name from the start: one may be gone when the other is first used.
fn piped(pair: *mut [c_int; 2], result: c_int, pc: usize) -> c_int {
    if result == 0 {
        writes(pair, size_of::<[c_int; 2]>(), pc);
        // SAFETY: libc has written both.
        for fd in unsafe { *pair } {
            made(fd, UNKNOWN);
            channel(fd);
        }
    }
    result
}

fn duplicating(fd: c_int, command: c_int, result: c_int) -> c_int {
    if command == libc::F_DUPFD || command == libc::F_DUPFD_CLOEXEC {
        copied(fd, result);
    }
    result
}

fn ready(fd: c_int, events: Buffer, count: c_int, pc: usize) -> c_int {
    if count > 0 {
        receive(fd, count as isize);
        writes(events, count as usize * 12, pc);
    }
    count
}
