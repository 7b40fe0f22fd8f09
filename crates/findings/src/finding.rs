//! A race with names: one for each unique pair of places, however often and in however many processes
//! it was seen.

use event::AccessKind;
use report::{Elements, Location, Module, Process, Race};

use crate::symbols::Symbols;

/// A line of source.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// As the compiler wrote it.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
}

/// One function on a stack.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    /// The code address.
    pub pc: u64,
    /// The function, if the file tells.
    pub function: Option<String>,
    /// The line, if the file tells.
    pub place: Option<Place>,
    /// The file of the code.
    pub module: String,
    /// The address in that file's terms.
    pub offset: u64,
}

impl Frame {
    pub(crate) fn unknown(pc: u64, module: &str) -> Frame {
        Frame {
            pc,
            function: None,
            place: None,
            module: module.to_owned(),
            offset: pc,
        }
    }

    /// The function's name, or the next best thing.
    pub fn name(&self) -> String {
        match &self.function {
            Some(name) => name.clone(),
            None if self.module.is_empty() => format!("{:#x}", self.pc),
            None => format!("{}+{:#x}", self.module_name(), self.offset),
        }
    }

    /// The file name of the module.
    pub fn module_name(&self) -> &str {
        self.module.rsplit('/').next().unwrap_or(&self.module)
    }
}

/// A held lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lock {
    /// Its address.
    pub address: u64,
    /// Name of the global it is in, with offset.
    pub name: Option<String>,
    /// With other readers?
    pub shared: bool,
    /// Where it was taken.
    pub stack: Vec<Frame>,
}

/// One side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// Read or write.
    pub kind: AccessKind,
    /// An atomic operation?
    pub atomic: bool,
    /// The thread's number.
    pub thread: u32,
    /// Where, without the runtime's and libc's first steps.
    pub stack: Vec<Frame>,
    /// If one check stands for several accesses, or for one elsewhere: the places of all of them, of which one is meant.
    pub sources: Vec<Place>,
    /// Locks held, outermost first.
    pub locks: Vec<Lock>,
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Its number.
    pub id: u32,
    /// Its creator; none for the first.
    pub parent: Option<u32>,
    /// Its name, or empty.
    pub name: String,
    /// Where it was created.
    pub stack: Vec<Frame>,
}

/// What the memory is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Memory {
    /// A global.
    Global {
        /// Its name.
        name: String,
        /// First byte of the race in it.
        offset: u64,
        /// Its size.
        bytes: u64,
    },
    /// A heap block.
    Heap {
        /// First byte of the race in it.
        offset: u64,
        /// Its size.
        bytes: u64,
        /// Who allocated it.
        thread: u32,
        /// Where.
        stack: Vec<Frame>,
    },
    /// A mapping.
    Mapped {
        /// First byte of the race in it.
        offset: u64,
        /// Its size.
        bytes: u64,
        /// Who mapped it.
        thread: u32,
        /// Where.
        stack: Vec<Frame>,
    },
    /// The stack or the thread-locals of a thread.
    ThreadStack {
        /// Whose.
        thread: u32,
    },
    /// None of these.
    Unknown,
}

/// A unique race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The same in every run of the same program: a hash of what is on both sides.
    pub id: String,
    /// Where it was first seen.
    pub process: Process,
    /// The number there.
    pub number: u32,
    /// First byte.
    pub address: u64,
    /// How many bytes.
    pub bytes: u32,
    /// All elements that race, if one check found several.
    pub elements: Option<Elements>,
    /// The earlier access and the later one.
    pub accesses: [Access; 2],
    /// Who is named.
    pub threads: Vec<Thread>,
    /// What the memory is.
    pub memory: Memory,
    /// How often it was seen.
    pub times: u64,
}

/// Functions of libc and of Rust's std in which a thread's stack begins: no news to anybody.
fn is_beginning(frame: &Frame) -> bool {
    let Some(name) = &frame.function else {
        return false;
    };
    matches!(
        name.as_str(),
        "_start"
            | "__libc_start_main"
            | "__libc_start_main_impl"
            | "__libc_start_main@@GLIBC_2.34"
            | "__libc_start_call_main"
            | "start_thread"
            | "clone"
            | "clone3"
            | "__clone3"
            | "__clone"
    ) || name.starts_with("std::sys::backtrace::__rust_begin_short_backtrace")
        || name.starts_with("std::rt::lang_start")
}

/// Code of the runtime itself.
fn is_ours(frame: &Frame) -> bool {
    let name = frame.function.as_deref().unwrap_or_default();
    name.starts_with("footrace_runtime::")
}

fn is_libc(frame: &Frame) -> bool {
    let module = frame.module_name();
    module.starts_with("libc.so") || module.starts_with("libc-") || module.starts_with("ld-linux")
}

/// Names for a stack; without its beginning, and without the runtime's frames.
pub(crate) fn stack(symbols: &mut Symbols, modules: &[Module], pcs: &[u64]) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    for &pc in pcs {
        frames.extend(symbols.frames(modules, pc));
    }
    frames.retain(|frame| !is_ours(frame));
    if let Some(begin) = frames.iter().position(is_beginning)
        && begin > 0
    {
        frames.truncate(begin);
    }
    // Without debug information libc's first functions have no names.
    while frames.len() > 1
        && frames
            .last()
            .is_some_and(|f| is_libc(f) && f.function.is_none())
    {
        frames.pop();
    }
    frames
}

/// FNV-1a, good enough for a name.
fn hash(parts: impl Iterator<Item = String>) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in parts.flat_map(|part| (part + "\0").into_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

/// The innermost frame that has a line, or else the innermost one.
pub(crate) fn top(stack: &[Frame]) -> Option<&Frame> {
    stack
        .iter()
        .find(|frame| frame.place.is_some())
        .or(stack.first())
}

fn side_name(access: &Access) -> String {
    let frame = top(&access.stack);
    let place = frame.and_then(|frame| frame.place.as_ref());
    let file = place.map_or("", |p| p.file.rsplit('/').next().unwrap_or(&p.file));
    format!(
        "{:?} {} {} {}:{}:{}",
        access.kind,
        access.atomic,
        frame.map(Frame::name).unwrap_or_default(),
        file,
        place.map_or(0, |p| p.line),
        place.map_or(0, |p| p.column),
    )
}

impl Finding {
    /// Gives names to a race.
    pub(crate) fn new(
        symbols: &mut Symbols,
        process: &Process,
        modules: &[Module],
        race: &Race,
    ) -> Finding {
        let mut name = |address: u64| {
            let (name, offset, _) = symbols.global(modules, address)?;
            Some(if offset == 0 {
                name
            } else {
                format!("{name}+{offset}")
            })
        };
        let names: Vec<Vec<Option<String>>> = race
            .accesses
            .iter()
            .map(|access| access.locks.iter().map(|lock| name(lock.address)).collect())
            .collect();
        let mut side = |at: usize| {
            let access = &race.accesses[at];
            let locks = access.locks.iter().zip(&names[at]);
            let frames = stack(symbols, modules, &access.stack.0);
            let sources = match top(&frames) {
                Some(frame) if !access.atomic => symbols.sources(frame, access.kind),
                _ => Vec::new(),
            };
            Access {
                kind: access.kind,
                atomic: access.atomic,
                thread: access.thread,
                stack: frames,
                sources,
                locks: locks
                    .map(|(lock, name)| Lock {
                        address: lock.address,
                        name: name.clone(),
                        shared: lock.shared,
                        stack: stack(symbols, modules, &lock.stack.0),
                    })
                    .collect(),
            }
        };
        let accesses = [side(0), side(1)];
        let threads = race
            .threads
            .iter()
            .map(|thread| Thread {
                id: thread.id,
                parent: thread.parent,
                name: thread.name.clone(),
                stack: stack(symbols, modules, &thread.stack.0),
            })
            .collect();
        let memory = match &race.location {
            Location::Heap {
                start,
                bytes,
                thread,
                stack: at,
            } => Memory::Heap {
                offset: race.address.saturating_sub(*start),
                bytes: *bytes,
                thread: *thread,
                stack: stack(symbols, modules, &at.0),
            },
            Location::Mapped {
                start,
                bytes,
                thread,
                stack: at,
            } => Memory::Mapped {
                offset: race.address.saturating_sub(*start),
                bytes: *bytes,
                thread: *thread,
                stack: stack(symbols, modules, &at.0),
            },
            Location::ThreadStack { thread, .. } => Memory::ThreadStack { thread: *thread },
            Location::Unknown => match symbols.global(modules, race.address) {
                Some((name, offset, bytes)) => Memory::Global {
                    name,
                    offset,
                    bytes,
                },
                None => Memory::Unknown,
            },
        };
        let mut sides = [side_name(&accesses[0]), side_name(&accesses[1])];
        sides.sort();
        let id = hash(sides.into_iter());
        Finding {
            id: format!("{:08x}", (id ^ (id >> 32)) as u32),
            process: process.clone(),
            number: race.number,
            address: race.address,
            bytes: race.bytes,
            elements: race.elements,
            accesses,
            threads,
            memory,
            times: 1,
        }
    }

    /// A thread by its number.
    pub fn thread(&self, id: u32) -> Option<&Thread> {
        self.threads.iter().find(|thread| thread.id == id)
    }

    /// How a thread is called in a sentence.
    pub fn thread_name(&self, id: u32) -> String {
        match self.thread(id) {
            Some(thread) if thread.parent.is_none() && id == 1 => "main thread".to_owned(),
            Some(thread) if !thread.name.is_empty() => format!("thread {id} `{}`", thread.name),
            _ => format!("thread {id}"),
        }
    }
}
