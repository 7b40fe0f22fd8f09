//! The runtime that does nothing. A program linked with it pays for the instrumentation alone: that
//! is the "null" column of every benchmark, and enough for tests of the pass and the drivers.
#![no_std]

/// Defines empty functions, and the list of their names for the test below.
macro_rules! null {
    ($($name:ident($($kind:ty),*);)*) => {
        $(
            #[doc = "Does nothing."]
            // SAFETY: the name is the ABI's for a function of this signature, defined only here
            // and in the runtime proper, of which a program has one.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($(_: $kind),*) {}
        )*

        /// The functions defined here, with the number of their parameters.
        pub const DEFINED: &[(&str, usize)] = &[
            $((stringify!($name), [$(size_of::<$kind>()),*].len()),)*
            ("__footrace_exchange", 6),
        ];
    };
}

type Pointer = *const u8;

null! {
    __footrace_read1(Pointer);
    __footrace_read2(Pointer);
    __footrace_read4(Pointer);
    __footrace_read8(Pointer);
    __footrace_read16(Pointer);
    __footrace_read24(Pointer);
    __footrace_read32(Pointer);
    __footrace_write1(Pointer);
    __footrace_write2(Pointer);
    __footrace_write4(Pointer);
    __footrace_write8(Pointer);
    __footrace_write16(Pointer);
    __footrace_write24(Pointer);
    __footrace_write32(Pointer);
    __footrace_read_unaligned2(Pointer);
    __footrace_read_unaligned4(Pointer);
    __footrace_read_unaligned8(Pointer);
    __footrace_read_unaligned16(Pointer);
    __footrace_write_unaligned2(Pointer);
    __footrace_write_unaligned4(Pointer);
    __footrace_write_unaligned8(Pointer);
    __footrace_write_unaligned16(Pointer);
    __footrace_read_range(Pointer, u64);
    __footrace_write_range(Pointer, u64);
    __footrace_read_strided(Pointer, u32, u64, u64);
    __footrace_write_strided(Pointer, u32, u64, u64);
    __footrace_read_gathered(Pointer, u64, u32);
    __footrace_write_gathered(Pointer, u64, u32);
    __footrace_read_masked(Pointer, u32, u64);
    __footrace_write_masked(Pointer, u32, u64);
    __footrace_atomic_begin(Pointer, u32, u32, u32);
    __footrace_atomic_end(Pointer, u32, u32, u32);
    __footrace_fence(u32);
    __footrace_told(u32);
    __footrace_init(Pointer);
}

// The program's operation, which is made here.
core::arch::global_asm!(
    ".globl __footrace_exchange",
    "__footrace_exchange:",
    "mov rax, rdx",
    "cmp esi, 4",
    "ja 8f",
    "je 4f",
    "cmp esi, 2",
    "je 2f",
    "lock cmpxchg byte ptr [rdi], cl",
    "movzx eax, al",
    "ret",
    "2: lock cmpxchg word ptr [rdi], cx",
    "movzx eax, ax",
    "ret",
    "4: lock cmpxchg dword ptr [rdi], ecx",
    "mov eax, eax",
    "ret",
    "8: lock cmpxchg qword ptr [rdi], rcx",
    "ret",
);

// libc's own: `__footrace_called_NAME` jumps to NAME.
core::arch::global_asm!(
    ".globl __footrace_called_memcpy, __footrace_called_memmove, __footrace_called_memset",
    "__footrace_called_memcpy: jmp memcpy@PLT",
    "__footrace_called_memmove: jmp memmove@PLT",
    "__footrace_called_memset: jmp memset@PLT",
);

// The calling-context hash, and the counters. A thread-local variable with a name for C cannot be written in stable Rust.
core::arch::global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".globl __footrace_context",
    ".type __footrace_context, @object",
    ".size __footrace_context, 8",
    ".p2align 3",
    "__footrace_context:",
    ".zero 8",
    ".globl __footrace_counts",
    ".type __footrace_counts, @object",
    ".size __footrace_counts, {counts}",
    "__footrace_counts:",
    ".zero {counts}",
    ".popsection",
    counts = const abi::counts::COUNTERS * 8,
);

#[cfg(test)]
mod tests {
    #[test]
    fn defines_the_table_and_nothing_else() {
        let mut table: [(&str, usize); abi::FUNCTIONS.len()] =
            core::array::from_fn(|i| (abi::FUNCTIONS[i].name, abi::FUNCTIONS[i].parameters.len()));
        let mut defined: [(&str, usize); abi::FUNCTIONS.len()] =
            core::array::from_fn(|i| super::DEFINED[i]);
        table.sort_unstable();
        defined.sort_unstable();
        assert_eq!(super::DEFINED.len(), table.len());
        assert_eq!(table, defined);
        assert_eq!(abi::CONTEXT, "__footrace_context");
    }
}
