//! What instrumented code and the runtime know of each other. One table, nothing else: `instrument`
//! declares these functions, `runtime` defines them, and a test holds the two to this list.
//!
//! # How an access is checked
//!
//! Before the access, a call to [`Access`]'s function with the address. Hot ones have a body in the
//! bitcode file `footrace_hot.bc`, which the pass links into the module after optimisation and which calls
//! the runtime's `_slow` twin if the quick test fails; without the file they are ordinary calls. Where that is too much code, the call goes to the
//! runtime's `_outlined` twin, which begins with the same test.
//! In that file, a call of [`OWN`] stands for the address of the thread's own block, [`OWN_BLOCK`].
//!
//! # How an atomic operation is checked
//!
//! ```text
//! call void @__footrace_atomic_begin(ptr addr, i32 size, i32 kind, i32 order)
//! %r = atomicrmw … as the program wrote it …
//! call void @__footrace_atomic_end(ptr addr, i32 size, i32 kind, i32 order)
//! ```
//!
//! The runtime holds the atomic object between the two calls, so that the value read and the clock
//! taken belong together. `begin` touches the memory first: a fault happens before anything is held.
//! `kind` is known after the operation: a failed compare-exchange is a load. Where the operation changes nothing that the
//! detector knows, nothing is held; the quick paths of the two calls see to that.
//!
//! What a compare-exchange is depends on what it finds. One that may release is one call, which operates and returns what was there:
//!
//! ```text
//! %old = call i64 @__footrace_exchange(ptr addr, i32 size, i64 expected, i64 new, i32 success, i32 failure)
//! ```
//!
//! Where it would fail, it need not be made: a load is enough.
//!
//! # How stacks are known
//!
//! `__footrace_context` is a thread-local `u64`, a hash of the calling context (probabilistic calling
//! context, Bond and McKinley). A function loads it on entry into `v` and stores
//! `(v ^ call_site) * CONTEXT_MULTIPLIER` before each call that leaves it; at a check it is `v` again, and
//! functions whose address is taken put `v` back. When the runtime meets a hash and a return address for the first time, it
//! unwinds the stack and remembers it under the two.
#![no_std]
#![forbid(unsafe_code)]

pub mod counts;
pub mod hot;

/// Bumped when anything in this file changes meaning; recorded in every instrumented module.
pub const VERSION: u32 = 2;

/// Odd, so that multiplication loses nothing.
pub const CONTEXT_MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// The thread-local calling-context hash (`u64`, initial-exec).
pub const CONTEXT: &str = "__footrace_context";

/// `fn() -> *const Block`, for the hot checks only: the pass puts the address of [`OWN_BLOCK`] in its place.
pub const OWN: &str = "__footrace_own";

/// What the names of functions in `footrace_hot.bc` begin with that stay functions: quick tests too large to inline. They call nothing.
pub const QUICK: &str = "__footrace_quick_";

/// Memory functions of libc, and what is called instead where the program calls them by name or takes their address: that checks
/// what they touch. Where the compiler makes a call of them for an intrinsic, there are checks before it.
pub const CALLED: &[(&str, &str)] = &[
    ("memcpy", "__footrace_called_memcpy"),
    ("memmove", "__footrace_called_memmove"),
    ("memset", "__footrace_called_memset"),
];

/// What a check's name ends with where the inlined test has failed.
pub const SLOW: &str = "_slow";

/// What a check's name ends with where its quick test is not inlined: the whole of it in one call.
pub const OUTLINED: &str = "_outlined";

/// Does this function of the runtime keep all general registers but r11 (LLVM's `preserve_most`)? The twins of checks of one
/// address do: they stand in the program's loops, and hardly ever do more than a test.
pub fn keeps_registers(name: &str) -> bool {
    let check = name.strip_suffix(SLOW).or(name.strip_suffix(OUTLINED));
    check.is_some_and(|name| {
        FUNCTIONS
            .iter()
            .any(|function| function.name == name && function.hot && function.parameters == [Ptr])
    })
}

/// The thread's own block of the runtime (thread-local, initial-exec).
pub const OWN_BLOCK: &str = "__footrace_tls";

/// Section with an ELF note for each linked module (loaders walk every note, so it has to be a real one).
/// Its content is a line of text that ends in NUL: `footrace abi=2 placement=all`.
pub const NOTE_SECTION: &str = ".note.footrace";

/// The owner's name of that note.
pub const NOTE_NAME: &str = "Footrace";

/// The type of that note.
pub const NOTE_TYPE: u32 = 1;

/// Sizes that have an entry point of their own: within a word of 8 bytes, or two to four whole ones. Others use the range functions.
pub const SIZES: [u32; 7] = [1, 2, 4, 8, 16, 24, 32];

/// Sizes that have one for accesses that may straddle words.
pub const UNALIGNED: [u32; 4] = [2, 4, 8, 16];

/// What the names of checks end with that read a list in the program's memory.
pub const GATHERED: &str = "_gathered";

/// A type in a signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// `ptr`
    Ptr,
    /// `i32`
    I32,
    /// `i64`
    I64,
}

/// A function of the runtime. None unwinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Function {
    /// Symbol name.
    pub name: &'static str,
    /// Parameter types.
    pub parameters: &'static [Type],
    /// What it returns, if anything.
    pub result: Option<Type>,
    /// Has a quick path in `footrace_hot.bc`.
    pub hot: bool,
}

/// What an atomic operation is, the `kind` of `__footrace_atomic_begin`; or turned out to be, that of `__footrace_atomic_end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum AtomicKind {
    Load = 0,
    Store = 1,
    Rmw = 2,
    /// Not known yet: one of the above.
    CompareExchange = 3,
}

/// Memory orders as numbers, as C's `memory_order`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum Order {
    Relaxed = 0,
    Consume = 1,
    Acquire = 2,
    Release = 3,
    AcqRel = 4,
    SeqCst = 5,
}

/// What the calls of checks from here on are, in a program linked with `FOOTRACE_WITNESS`: the argument of `__footrace_told`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u32)]
pub enum Told {
    /// An access that is checked where it is made, as by the interceptors.
    #[default]
    Both = 0,
    /// An access; its check is elsewhere.
    Access = 1,
    /// A check; what it stands for is told elsewhere.
    Check = 2,
}

impl Told {
    /// What the number stands for.
    pub const fn of(number: u64) -> Option<Told> {
        match number {
            0 => Some(Told::Both),
            1 => Some(Told::Access),
            2 => Some(Told::Check),
            _ => None,
        }
    }
}

const fn hot(name: &'static str, parameters: &'static [Type]) -> Function {
    Function {
        name,
        parameters,
        result: None,
        hot: true,
    }
}

const fn cold(name: &'static str, parameters: &'static [Type]) -> Function {
    Function {
        name,
        parameters,
        result: None,
        hot: false,
    }
}

use Type::{I32, I64, Ptr};

/// Every function instrumented code may call.
pub const FUNCTIONS: &[Function] = &[
    // Accesses within one aligned 8-byte word, or to two, three or four of them.
    hot("__footrace_read1", &[Ptr]),
    hot("__footrace_read2", &[Ptr]),
    hot("__footrace_read4", &[Ptr]),
    hot("__footrace_read8", &[Ptr]),
    hot("__footrace_read16", &[Ptr]),
    hot("__footrace_read24", &[Ptr]),
    hot("__footrace_read32", &[Ptr]),
    hot("__footrace_write1", &[Ptr]),
    hot("__footrace_write2", &[Ptr]),
    hot("__footrace_write4", &[Ptr]),
    hot("__footrace_write8", &[Ptr]),
    hot("__footrace_write16", &[Ptr]),
    hot("__footrace_write24", &[Ptr]),
    hot("__footrace_write32", &[Ptr]),
    // The same at any address.
    hot("__footrace_read_unaligned2", &[Ptr]),
    hot("__footrace_read_unaligned4", &[Ptr]),
    hot("__footrace_read_unaligned8", &[Ptr]),
    hot("__footrace_read_unaligned16", &[Ptr]),
    hot("__footrace_write_unaligned2", &[Ptr]),
    hot("__footrace_write_unaligned4", &[Ptr]),
    hot("__footrace_write_unaligned8", &[Ptr]),
    hot("__footrace_write_unaligned16", &[Ptr]),
    // Any address, any number of bytes (also 0).
    hot("__footrace_read_range", &[Ptr, I64]),
    hot("__footrace_write_range", &[Ptr, I64]),
    // `count` elements (also 0) of `elem` bytes each, `stride` bytes from one to the next, upwards from the
    // lowest one at the address. Strides are never negative: whoever walks down passes the lowest address.
    // Elements may overlap (`stride < elem`) and need no alignment.
    cold("__footrace_read_strided", &[Ptr, I32, I64, I64]),
    cold("__footrace_write_strided", &[Ptr, I32, I64, I64]),
    // Masked vectors: lane `i` of `lane` bytes is accessed if bit `i` is set.
    cold("__footrace_read_masked", &[Ptr, I32, I64]),
    cold("__footrace_write_masked", &[Ptr, I32, I64]),
    // A list of `count` addresses (also 0), each of an access to `size` bytes. The list is the caller's.
    cold("__footrace_read_gathered", &[Ptr, I64, I32]),
    cold("__footrace_write_gathered", &[Ptr, I64, I32]),
    // Atomic operations and fences.
    hot("__footrace_atomic_begin", &[Ptr, I32, I32, I32]),
    hot("__footrace_atomic_end", &[Ptr, I32, I32, I32]),
    Function {
        name: "__footrace_exchange",
        parameters: &[Ptr, I32, I64, I64, I32, I32],
        result: Some(I64),
        hot: true,
    },
    cold("__footrace_fence", &[I32]),
    // What the checks that follow are, a [`Told`].
    cold("__footrace_told", &[I32]),
    // Once per module, before any other constructor: a pointer to the note's text, NUL-terminated.
    cold("__footrace_init", &[Ptr]),
];
