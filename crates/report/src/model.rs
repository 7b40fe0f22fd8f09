//! The facts of a record file.

use alloc::string::String;
use alloc::vec::Vec;

use event::AccessKind;

/// Code addresses, innermost first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Stack(pub Vec<u64>);

/// The process that wrote the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// The number of the process that made it.
    pub parent: u32,
    /// Which detector ran.
    pub detector: String,
    /// Path of the executable.
    pub executable: String,
}

/// A file mapped for execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    /// First address.
    pub start: u64,
    /// One past the last address.
    pub end: u64,
    /// What to subtract from an address to get the address in the file's own terms.
    pub bias: u64,
    /// The linker's build id in hexadecimal, or empty.
    pub build_id: String,
    /// Path of the file.
    pub path: String,
}

/// A lock that was held.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lock {
    /// Its address; 0 if the runtime met too many locks to tell them apart.
    pub address: u64,
    /// Held with other readers?
    pub shared: bool,
    /// Where it was taken.
    pub stack: Stack,
}

/// One side of a race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// Read or write.
    pub kind: AccessKind,
    /// An atomic operation?
    pub atomic: bool,
    /// Who.
    pub thread: u32,
    /// Where.
    pub stack: Stack,
    /// What it held, outermost first.
    pub locks: Vec<Lock>,
}

/// A thread that a race names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Its number.
    pub id: u32,
    /// Who created it; `None` for the first thread and for threads from nowhere.
    pub parent: Option<u32>,
    /// Its name, or empty.
    pub name: String,
    /// Where it was created.
    pub stack: Stack,
}

/// What the memory is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Location {
    /// A block of the heap.
    Heap {
        /// First byte.
        start: u64,
        /// Number of bytes.
        bytes: u64,
        /// Who allocated it.
        thread: u32,
        /// Where.
        stack: Stack,
    },
    /// The stack of a thread.
    ThreadStack {
        /// Whose.
        thread: u32,
        /// Lowest address.
        start: u64,
        /// One past the highest address.
        end: u64,
    },
    /// A mapping made by the program.
    Mapped {
        /// First byte.
        start: u64,
        /// Number of bytes.
        bytes: u64,
        /// Who mapped it.
        thread: u32,
        /// Where.
        stack: Stack,
    },
    /// A global, or memory that nobody accounts for: the module map tells.
    #[default]
    Unknown,
}

/// Evenly spaced elements, the first of which is where a race's memory begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Elements {
    /// Bytes in an element.
    pub size: u64,
    /// Bytes from one to the next.
    pub step: u64,
    /// How many.
    pub count: u64,
}

/// Two accesses that happens-before does not order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Race {
    /// Counts the races of a process.
    pub number: u32,
    /// First byte that both touched.
    pub address: u64,
    /// How many bytes.
    pub bytes: u32,
    /// All elements that race, if one check found several.
    pub elements: Option<Elements>,
    /// The earlier access and the later one.
    pub accesses: [Access; 2],
    /// The threads named above, and those that created them.
    pub threads: Vec<Thread>,
    /// What the memory is.
    pub location: Location,
}

/// Arrays allocated at one place whose shadows ended in partitions of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrays {
    /// The paper's name for the partition, such as `BLOCK`.
    pub partition: String,
    /// How many arrays.
    pub blocks: u64,
    /// Their elements.
    pub elements: u64,
    /// Their shadow locations.
    pub locations: u64,
    /// Where they were allocated.
    pub stack: Stack,
}

/// What the detector did, over all threads that ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Rules and how often each fired; bytes by what they are used for.
    pub counts: Vec<(String, u64)>,
    /// Compressed arrays, if the detector has such.
    pub arrays: Vec<Arrays>,
}

/// What is written at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Block {
    /// The file begins.
    Process(Process),
    /// What is mapped from here on.
    Modules(Vec<Module>),
    /// A race.
    Race(Race),
    /// A race was seen again.
    Repeat {
        /// Which.
        number: u32,
        /// How often in all, beyond the first time.
        times: u64,
    },
    /// What the detector did, if the user wants to know.
    Stats(Stats),
    /// An orderly end.
    End {
        /// The exit code.
        code: i32,
    },
}
