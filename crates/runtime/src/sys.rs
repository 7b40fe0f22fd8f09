//! System calls without libc: the program may have replaced any libc function, and some of ours
//! stand in front of libc's.

use core::arch::asm;

/// A system call's result: the value, or the error number.
pub type Result<T> = core::result::Result<T, Errno>;

/// An error number of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errno(pub i32);

/// Performs system call `number`.
///
/// # Safety
/// As the system call itself.
pub unsafe fn syscall(number: i64, args: [usize; 6]) -> Result<usize> {
    let result: isize;
    // SAFETY: the kernel preserves every register but rax, rcx and r11; the rest is the caller's promise.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    if (-4095..0).contains(&result) {
        Err(Errno(-result as i32))
    } else {
        Ok(result as usize)
    }
}

/// Fresh zeroed memory, or `None` if the kernel has none.
pub fn map(bytes: usize) -> Option<*mut u8> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    // SAFETY: a new anonymous mapping touches nobody's memory.
    let got = unsafe { syscall(libc::SYS_mmap, [0, bytes, protection, flags, usize::MAX, 0]) };
    got.ok().map(|p| p as *mut u8)
}

/// Gives `bytes` at `start` back to the kernel.
///
/// # Safety
/// The range came from [`map`] and nothing refers to it any more.
pub unsafe fn unmap(start: *mut u8, bytes: usize) {
    // SAFETY: by the caller's promise.
    let _ = unsafe { syscall(libc::SYS_munmap, [start as usize, bytes, 0, 0, 0, 0]) };
}

/// Gives the memory of whole pages back to the kernel, if it is nobody else's and no file's: what is read there next is zeroes. Else it stays as it is.
///
/// # Safety
/// Nobody minds if the bytes change.
pub unsafe fn discard(start: usize, bytes: usize) {
    // Of the two, the first one is refused where something else than zeroes would come back.
    for advice in [libc::MADV_FREE, libc::MADV_DONTNEED] {
        let args = [start, bytes, advice as usize, 0, 0, 0];
        // SAFETY: by the caller's promise.
        if unsafe { syscall(libc::SYS_madvise, args) }.is_err() {
            return;
        }
    }
}

/// Writes all of `bytes` to `fd`; false if the file took less.
pub fn write_all(fd: i32, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let args = [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0];
        // SAFETY: the kernel reads `bytes` only.
        match unsafe { syscall(libc::SYS_write, args) } {
            Ok(0) => return false,
            Ok(n) => bytes = &bytes[n.min(bytes.len())..],
            Err(Errno(libc::EINTR | libc::EAGAIN)) => {}
            Err(_) => return false,
        }
    }
    true
}

/// Opens the file at a NUL-terminated path.
pub fn open(path: &core::ffi::CStr, flags: i32, mode: u32) -> Result<i32> {
    let args = [
        libc::AT_FDCWD as usize,
        path.as_ptr() as usize,
        flags as usize,
        mode as usize,
        0,
        0,
    ];
    // SAFETY: the path is NUL-terminated.
    unsafe { syscall(libc::SYS_openat, args) }.map(|fd| fd as i32)
}

/// Closes `fd`.
pub fn close(fd: i32) {
    // SAFETY: only called with descriptors of our own.
    let _ = unsafe { syscall(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) };
}

/// A descriptor for the same file that the program does not come across: programs use low numbers, and some count on
/// getting the lowest.
pub fn out_of_the_way(fd: i32) -> i32 {
    let args = [fd as usize, libc::F_DUPFD_CLOEXEC as usize, 500, 0, 0, 0];
    // SAFETY: duplicates a descriptor of ours.
    match unsafe { syscall(libc::SYS_fcntl, args) } {
        Ok(high) => {
            close(fd);
            high as i32
        }
        Err(_) => fd,
    }
}

/// Reserves `bytes` of a file from `offset` on, which is a multiple of the page size, and maps them for
/// writing.
pub fn map_file(fd: i32, offset: usize, bytes: usize) -> Option<*mut u8> {
    // SAFETY: only the file changes.
    unsafe { syscall(libc::SYS_fallocate, [fd as usize, 0, offset, bytes, 0, 0]) }.ok()?;
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let args = [
        0,
        bytes,
        protection,
        libc::MAP_SHARED as usize,
        fd as usize,
        offset,
    ];
    // SAFETY: a new mapping touches nobody's memory.
    let got = unsafe { syscall(libc::SYS_mmap, args) };
    got.ok().map(|p| p as *mut u8)
}

/// This process.
pub fn pid() -> u32 {
    // SAFETY: no effects.
    unsafe { syscall(libc::SYS_getpid, [0; 6]) }.unwrap_or(0) as u32
}

/// The parent process.
pub fn parent_pid() -> u32 {
    // SAFETY: no effects.
    unsafe { syscall(libc::SYS_getppid, [0; 6]) }.unwrap_or(0) as u32
}

/// Lets somebody else run.
pub fn yield_now() {
    // SAFETY: no effects on memory.
    let _ = unsafe { syscall(libc::SYS_sched_yield, [0; 6]) };
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: a command without memory arguments.
    let done = unsafe { syscall(libc::SYS_membarrier, [command as usize, 0, 0, 0, 0, 0]) };
    done.is_ok()
}

/// Makes [`barrier_everywhere`] possible. False if the kernel does not know it.
pub fn register_barriers() -> bool {
    membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
}

/// A full memory barrier on every processor that runs a thread of this process.
pub fn barrier_everywhere() {
    membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

/// Sleeps while `*word == expected`, until woken.
pub fn futex_wait(word: &core::sync::atomic::AtomicU32, expected: u32) {
    let op = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    let args = [word.as_ptr() as usize, op, expected as usize, 0, 0, 0];
    // SAFETY: the kernel only reads the word.
    let _ = unsafe { syscall(libc::SYS_futex, args) };
}

/// Wakes everybody who sleeps on `word`.
pub fn futex_wake(word: *const u32) {
    wake(word, i32::MAX);
}

/// Wakes one of those who sleep on `word`.
pub fn futex_wake_one(word: &core::sync::atomic::AtomicU32) {
    wake(word.as_ptr(), 1);
}

fn wake(word: *const u32, many: i32) {
    let op = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    let args = [word as usize, op, many as usize, 0, 0, 0];
    // SAFETY: the kernel only compares the address.
    let _ = unsafe { syscall(libc::SYS_futex, args) };
}

/// Sends a signal to the calling thread again, with what was said of it.
pub fn send_again(signal: i32, info: &libc::siginfo_t) {
    // SAFETY: needs nothing.
    let thread = unsafe { syscall(libc::SYS_gettid, [0; 6]) }.unwrap_or(0);
    let (process, signal) = (pid() as usize, signal as usize);
    let info = &raw const *info as usize;
    // SAFETY: the kernel reads the structure.
    let sent = unsafe {
        syscall(
            libc::SYS_rt_tgsigqueueinfo,
            [process, thread, signal, info, 0, 0],
        )
    };
    if sent.is_err() {
        // SAFETY: changes no memory.
        let _ = unsafe { syscall(libc::SYS_tgkill, [process, thread, signal, 0, 0, 0]) };
    }
}

/// Milliseconds since some time.
pub fn milliseconds() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let args = [
        libc::CLOCK_MONOTONIC as usize,
        &raw mut now as usize,
        0,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel fills the structure.
    let _ = unsafe { syscall(libc::SYS_clock_gettime, args) };
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// Ends the process at once.
pub fn exit_now(code: i32) -> ! {
    loop {
        // SAFETY: ends the process.
        let _ = unsafe { syscall(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Ends the process the way `abort` does, with nothing of the program run.
pub fn die(message: &str) -> ! {
    write_all(2, b"footrace: ");
    write_all(2, message.as_bytes());
    write_all(2, b"\n");
    exit_now(2)
}
