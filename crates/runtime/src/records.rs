//! Found races, written at once: whatever happens to the process next, they are in the file.

use alloc::ffi::CString;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

use engine::{Race, Side};
use event::Tid;
use report::{Block, Location, Stack};

use crate::intercept::mapping;
use crate::lock::Spin;
use crate::options::Options;
use crate::table::{Index, mix};
use crate::{heap, modules, registry, site, sys, thread};

/// Races found, unique ones.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// How many races were found.
pub fn count() -> u32 {
    COUNT.load(Ordering::Relaxed)
}

/// Ranges that the program's author declared benign.
static BENIGN: Spin<Vec<(u64, u64)>> = Spin::new(Vec::new());

/// Races on these bytes are not worth a report.
pub fn benign(start: u64, bytes: u64) {
    BENIGN.lock().push((start, start.saturating_add(bytes)));
}

#[derive(Debug)]
struct Records {
    /// −1 until opened.
    fd: i32,
    path: String,
    /// Known pairs, and how often each was seen again.
    pairs: Index,
    again: Vec<u64>,
    /// How many modules the file knows of.
    modules: u64,
}

static RECORDS: Spin<Records> = Spin::new(Records {
    fd: -1,
    path: String::new(),
    pairs: Index::new(),
    again: Vec::new(),
    modules: 0,
});

/// Where the records of this process are, if any were written.
pub fn path() -> String {
    RECORDS.lock().path.clone()
}

/// The same two places in the program, whoever came first.
fn pair_key(race: &Race) -> u64 {
    let side = |side: &Side| {
        let what = u64::from(side.kind == event::AccessKind::Write) << 1 | u64::from(side.atomic);
        mix(u64::from(site::stack_of(side.site).0) + 1, what + 1)
    };
    let (a, b) = (side(&race.first), side(&race.second));
    mix(a.min(b), a.max(b))
}

/// A detector found a race.
#[cold]
#[inline(never)]
pub fn found(race: &Race) {
    let Some(runtime) = thread::runtime() else {
        return;
    };
    let end = race.addr.0 + u64::from(race.size);
    let is_benign = |range: &(u64, u64)| range.0 < end && race.addr.0 < range.1;
    if BENIGN.lock().iter().any(is_benign) {
        return;
    }
    let mut records = RECORDS.lock();
    let key = pair_key(race);
    if let Some(number) = records.pairs.find(key, |_| true) {
        let times = &mut records.again[number as usize - 1];
        *times += 1;
        let times = *times;
        // The exact count follows at the end; this one is for a process that does not get there.
        if times.is_power_of_two() {
            records.write(&Block::Repeat { number, times });
        }
        return;
    }
    let number = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    records.pairs.insert(key, number);
    records.again.push(0);
    let limit = runtime.options.max_races;
    if limit == 0 || number <= limit {
        let block = describe(number, race);
        records.write_modules();
        records.write(&block);
    }
    if runtime.options.halt_on_error {
        records.finish(runtime.options.exitcode);
        drop(records);
        sys::exit_now(runtime.options.exitcode);
    }
}

fn stack(id: site::StackId) -> Stack {
    Stack(site::frames(id))
}

fn access(side: &Side) -> report::Access {
    let locks = site::locks(side.site).into_iter().map(|lock| report::Lock {
        address: lock.address,
        shared: lock.shared,
        stack: stack(lock.stack),
    });
    report::Access {
        kind: side.kind,
        atomic: side.atomic,
        thread: side.thread.0,
        stack: stack(site::stack_of(side.site)),
        locks: locks.collect(),
    }
}

fn threads(race: &Race) -> Vec<report::Thread> {
    let mut all: Vec<report::Thread> = Vec::new();
    let mut wanted = Vec::from([race.first.thread, race.second.thread]);
    while let Some(tid) = wanted.pop() {
        let Some(info) = registry::info(tid) else {
            continue;
        };
        if all.iter().any(|thread| thread.id == tid.0) {
            continue;
        }
        wanted.extend(info.parent);
        all.push(report::Thread {
            id: tid.0,
            parent: info.parent.map(|parent| parent.0),
            name: info.name,
            stack: stack(site::stack_of(info.created)),
        });
    }
    all.sort_by_key(|thread| thread.id);
    all
}

fn location(address: u64) -> Location {
    if let Some(block) = heap::find(address) {
        return Location::Heap {
            start: block.start,
            bytes: block.bytes,
            thread: block.thread.0,
            stack: stack(site::stack_of(block.site)),
        };
    }
    if let Some((Tid(thread), (start, end))) = registry::by_stack(address) {
        return Location::ThreadStack { thread, start, end };
    }
    if let Some(mapping) = mapping::find(address) {
        return Location::Mapped {
            start: mapping.start,
            bytes: mapping.bytes,
            thread: mapping.thread.0,
            stack: stack(site::stack_of(mapping.site)),
        };
    }
    Location::Unknown
}

/// All elements that race, if this is the first of them.
fn elements(race: &Race) -> Option<report::Elements> {
    let all = race.elements?;
    (all.addr(all.lo) == race.addr).then(|| report::Elements {
        size: u64::from(all.elem),
        step: u64::from(all.elem) * all.stride,
        count: all.len(),
    })
}

fn describe(number: u32, race: &Race) -> Block {
    Block::Race(report::Race {
        number,
        address: race.addr.0,
        bytes: race.size,
        elements: elements(race),
        accesses: [access(&race.first), access(&race.second)],
        threads: threads(race),
        location: location(race.addr.0),
    })
}

impl Records {
    fn write(&mut self, block: &Block) {
        let bytes = block.to_bytes();
        if self.open() && sys::write_all(self.fd, &bytes) {
            return;
        }
        // The program may have closed our descriptor: once more from the start.
        self.fd = -1;
        if !(self.open() && sys::write_all(self.fd, &bytes)) {
            // Nowhere to write: at least say it.
            sys::write_all(2, &bytes);
        }
    }

    fn open(&mut self) -> bool {
        if self.fd >= 0 {
            return true;
        }
        let Some(runtime) = thread::runtime() else {
            return false;
        };
        let pid = sys::pid();
        // The name can be guessed and the directory may be everybody's: a link in its place is not followed.
        let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        let opened = if self.path.is_empty() {
            self.create(&runtime.options, pid, flags)
        } else {
            let path = CString::new(self.path.as_str());
            path.ok().and_then(|path| sys::open(&path, flags, 0).ok())
        };
        let Some(fd) = opened else { return false };
        self.fd = sys::out_of_the_way(fd);
        // A file that already has a beginning belongs to this process: it lost the descriptor.
        let args = [self.fd as usize, 0, libc::SEEK_END as usize, 0, 0, 0];
        // SAFETY: asks for the length.
        let length = unsafe { sys::syscall(libc::SYS_lseek, args) };
        if length == Ok(0) || length.is_err() {
            let process = Block::Process(report::Process {
                pid,
                parent: sys::parent_pid(),
                detector: runtime.detector.name.to_string(),
                executable: modules::executable(),
            });
            sys::write_all(self.fd, &process.to_bytes());
        }
        true
    }

    /// A file that is only ours: a process of long ago may have had our number, and what ran here before an `exec` has it still.
    fn create(&mut self, options: &Options, pid: u32, flags: i32) -> Option<i32> {
        let flags = flags | libc::O_CREAT | libc::O_EXCL;
        for again in 0..1000 {
            let process = if again == 0 {
                pid.to_string()
            } else {
                format!("{pid}.{again}")
            };
            let name = if !options.records.is_empty() {
                format!("{}/{process}.frr", options.records)
            } else if !options.log_path.is_empty() {
                format!("{}.{process}", options.log_path)
            } else {
                format!("/tmp/footrace.{process}.frr")
            };
            let path = CString::new(name.as_str()).ok()?;
            match sys::open(&path, flags, 0o644) {
                Ok(fd) => {
                    self.path = name;
                    return Some(fd);
                }
                Err(sys::Errno(libc::EEXIST)) => {}
                Err(_) => return None,
            }
        }
        None
    }

    fn write_modules(&mut self) {
        let changes = modules::changes();
        if changes != self.modules {
            self.modules = changes;
            self.write(&Block::Modules(modules::list()));
        }
    }

    fn finish(&mut self, code: i32) {
        let again: Vec<(u32, u64)> = (1..).zip(self.again.iter().copied()).collect();
        for (number, times) in again {
            if times > 0 && !times.is_power_of_two() {
                self.write(&Block::Repeat { number, times });
            }
        }
        if self.fd >= 0 {
            self.write(&Block::End { code });
        }
    }
}

/// What the detector did.
pub fn stats(stats: report::Stats) {
    let mut records = RECORDS.lock();
    records.write_modules();
    records.write(&Block::Stats(stats));
}

/// Under `footrace run` the file is there from the start: later the process may be another user's, or see another root directory.
pub fn prepare(options: &Options) {
    if !options.records.is_empty() {
        RECORDS.lock().open();
    }
}

/// The process ends with `code`: the exact counts.
pub fn finish(code: i32) {
    RECORDS.lock().finish(code);
}

/// In the child of a fork: a file of its own, opened when needed. What the parent found is the parent's.
pub fn forked() {
    let mut records = RECORDS.lock();
    if records.fd >= 0 {
        sys::close(records.fd);
    }
    records.fd = -1;
    records.path = String::new();
    records.modules = 0;
    records.pairs = Index::new();
    records.again = Vec::new();
    COUNT.store(0, Ordering::Relaxed);
}
