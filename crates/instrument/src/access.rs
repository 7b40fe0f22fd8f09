//! What an instruction does to memory: every load, store, memory intrinsic, vector form, atomic
//! operation and fence of the IR, in one list.
use crate::libatomic::{self, AtomicCall};
use crate::llvm::{Module, Opcode, Type, TypeKind, Value};
use crate::x86;

/// Reads and writes; an operation that does both gives two accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Read,
    Write,
}

/// Which lanes of a vector are accessed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mask {
    /// A vector of `i1`.
    Bits(Value),
    /// The sign bits of a vector's lanes (AVX and AVX2).
    Signs(Value),
}

/// Which bytes, seen from the access's pointer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent {
    /// `size` bytes at `offset`; the address there is a multiple of `align`.
    Bytes { offset: u64, size: u64, align: u64 },
    /// A number of bytes that the program computes.
    Length(Value),
    /// Lane `i` of `lane` bytes at `i * lane`, if the mask says so.
    Masked { lane: u64, mask: Mask },
    /// As many lanes as the mask has true ones, one after the other.
    Packed { lane: u64, mask: Value },
    /// The pointer is a vector of pointers.
    Gather { lane: u64, mask: Mask },
    /// Lane `i` is at `pointer + index[i] * scale`.
    Indexed {
        lane: u64,
        lanes: u64,
        index: Value,
        scale: u64,
        mask: Mask,
    },
}

/// One plain access of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) instruction: Value,
    pub(crate) kind: Kind,
    pub(crate) pointer: Value,
    pub(crate) extent: Extent,
}

/// What an instruction is, to a race detector.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    /// Touches no memory that matters and cannot synchronise.
    Nothing,
    /// Plain accesses, perhaps volatile; cannot synchronise.
    Plain(Vec<Access>),
    /// A call: the accesses are the copies it makes of its arguments.
    Call(Vec<Access>),
    /// An atomic load, store, read-modify-write or compare-exchange.
    Atomic,
    /// The same by a call of libatomic.
    AtomicCall(AtomicCall),
    /// A fence between threads.
    Fence,
    /// Machine instructions we cannot see into.
    Assembly,
    /// An intrinsic with a pointer that this list does not know.
    Unknown,
}

impl Effect {
    /// The plain accesses.
    pub(crate) fn plain(&self) -> Option<&Vec<Access>> {
        match self {
            Effect::Plain(accesses) | Effect::Call(accesses) => Some(accesses),
            Effect::AtomicCall(call) => Some(&call.plain),
            _ => None,
        }
    }
}

/// Above this many scalars, a first-class aggregate is one range.
const FLATTEN_LIMIT: usize = 64;

/// The accesses of a value of type `kind` at `pointer`: one, or for a struct one for each scalar, so
/// that padding is not touched.
fn of_type(
    module: Module,
    instruction: Value,
    access: Kind,
    pointer: Value,
    kind: Type,
    align: u64,
) -> Vec<Access> {
    let mut scalars = Vec::new();
    if !flatten(module, kind, 0, &mut scalars) {
        scalars = vec![(0, kind.store_size(module))];
    }
    scalars
        .into_iter()
        .filter(|(_, size)| *size > 0)
        .map(|(offset, size)| Access {
            instruction,
            kind: access,
            pointer,
            extent: Extent::Bytes {
                offset,
                size,
                align: common_alignment(align, offset),
            },
        })
        .collect()
}

/// The alignment of `address + offset` when `address` is a multiple of `align`.
fn common_alignment(align: u64, offset: u64) -> u64 {
    let align = align.max(1);
    if offset == 0 {
        align
    } else {
        align.min(1 << offset.trailing_zeros())
    }
}

fn flatten(module: Module, kind: Type, base: u64, scalars: &mut Vec<(u64, u64)>) -> bool {
    if scalars.len() >= FLATTEN_LIMIT {
        return false;
    }
    match kind.kind() {
        TypeKind::LLVMStructTypeKind => kind.fields().zip(0u32..).all(|(field, index)| {
            flatten(
                module,
                field,
                base + kind.field_offset(module, index),
                scalars,
            )
        }),
        TypeKind::LLVMArrayTypeKind => {
            let element = kind.element();
            // Elements without padding lie back to back: one access.
            if !matches!(
                element.kind(),
                TypeKind::LLVMStructTypeKind | TypeKind::LLVMArrayTypeKind
            ) && element.store_size(module) == element.stride(module)
            {
                scalars.push((base, kind.length() * element.stride(module)));
                return true;
            }
            kind.length() <= FLATTEN_LIMIT as u64
                && (0..kind.length())
                    .all(|i| flatten(module, element, base + i * element.stride(module), scalars))
        }
        _ => {
            scalars.push((base, kind.store_size(module)));
            true
        }
    }
}

fn bytes(instruction: Value, kind: Kind, pointer: Value, size: u64) -> Access {
    let extent = Extent::Bytes {
        offset: 0,
        size,
        align: 1,
    };
    Access {
        instruction,
        kind,
        pointer,
        extent,
    }
}

/// Sizes that are constants are as good as those of a load.
fn length(instruction: Value, argument: u32, kind: Kind, pointer: Value, length: Value) -> Access {
    match length.as_u64() {
        Some(size) => {
            let align = instruction
                .argument_attribute(argument, "align")
                .unwrap_or(1);
            let extent = Extent::Bytes {
                offset: 0,
                size,
                align,
            };
            Access {
                instruction,
                kind,
                pointer,
                extent,
            }
        }
        None => Access {
            instruction,
            kind,
            pointer,
            extent: Extent::Length(length),
        },
    }
}

/// What the instruction does.
pub(crate) fn effect(module: Module, instruction: Value) -> Effect {
    let Some(opcode) = instruction.opcode() else {
        return Effect::Nothing;
    };
    match opcode {
        Opcode::LLVMLoad | Opcode::LLVMStore if instruction.is_atomic() => Effect::Atomic,
        Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg => Effect::Atomic,
        Opcode::LLVMFence if instruction.is_single_thread() => Effect::Nothing,
        Opcode::LLVMFence => Effect::Fence,
        // The value of an access that is still there, read before its loop (entry.cpp).
        Opcode::LLVMLoad
            if instruction.has_metadata(module.context().metadata_kind("footrace.silent")) =>
        {
            Effect::Nothing
        }
        Opcode::LLVMLoad => match instruction.operand(0) {
            Some(pointer) => scalar(module, instruction, Kind::Read, pointer, instruction.kind()),
            None => Effect::Nothing,
        },
        Opcode::LLVMStore => match (instruction.operand(0), instruction.operand(1)) {
            (Some(value), Some(pointer)) => {
                scalar(module, instruction, Kind::Write, pointer, value.kind())
            }
            _ => Effect::Nothing,
        },
        // Reads the list's state and the argument, and moves the list on. Its layout is the
        // target's; front ends expand it before we see it, except for the simplest types.
        Opcode::LLVMVAArg => match instruction.operand(0) {
            Some(list) => Effect::Plain(vec![
                bytes(instruction, Kind::Read, list, VA_LIST_BYTES),
                bytes(instruction, Kind::Write, list, VA_LIST_BYTES),
            ]),
            None => Effect::Nothing,
        },
        Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr => call(module, instruction),
        _ => Effect::Nothing,
    }
}

/// Size of `va_list` on x86-64.
const VA_LIST_BYTES: u64 = 24;

fn scalar(module: Module, instruction: Value, kind: Kind, pointer: Value, of: Type) -> Effect {
    if !of.is_sized() {
        return Effect::Unknown;
    }
    let align = instruction.alignment();
    Effect::Plain(of_type(module, instruction, kind, pointer, of, align))
}

fn call(module: Module, instruction: Value) -> Effect {
    let Some(callee) = instruction.callee() else {
        return Effect::Nothing;
    };
    if callee.is_inline_asm() {
        return Effect::Assembly;
    }
    let name = if callee.is_function() {
        callee.name()
    } else {
        String::new()
    };
    if let Some(intrinsic) = name.strip_prefix("llvm.") {
        return self::intrinsic(module, instruction, intrinsic);
    }
    let arguments = instruction.arguments();
    if instruction.opcode() == Some(Opcode::LLVMCall)
        && let Some(call) = libatomic::recognise(instruction, &name, &arguments)
    {
        return Effect::AtomicCall(call);
    }
    let copies = (0u32..)
        .zip(&arguments)
        .filter_map(|(index, argument)| {
            let kind = instruction.argument_type_attribute(index, "byval")?;
            kind.is_sized().then(|| {
                let align = instruction.argument_attribute(index, "align").unwrap_or(1);
                let extent = Extent::Bytes {
                    offset: 0,
                    size: kind.store_size(module),
                    align,
                };
                Access {
                    instruction,
                    kind: Kind::Read,
                    pointer: *argument,
                    extent,
                }
            })
        })
        .collect();
    Effect::Call(copies)
}

fn lane_bytes(module: Module, vector: Type) -> Option<u64> {
    if vector.kind() != TypeKind::LLVMVectorTypeKind {
        return None;
    }
    let element = vector.element();
    // Lanes narrower than a byte share bytes: no mask can tell them apart.
    (element.is_sized() && element.integer_bits().is_multiple_of(8))
        .then(|| element.store_size(module))
}

fn intrinsic(module: Module, instruction: Value, name: &str) -> Effect {
    let arguments = instruction.arguments();
    let one = |access| Effect::Plain(vec![access]);
    let masked = |kind, pointer: Value, vector: Type, mask| match lane_bytes(module, vector) {
        Some(lane) => one(Access {
            instruction,
            kind,
            pointer,
            extent: Extent::Masked {
                lane,
                mask: Mask::Bits(mask),
            },
        }),
        None => Effect::Unknown,
    };
    let packed = |kind, pointer: Value, vector: Type, mask| match lane_bytes(module, vector) {
        Some(lane) => one(Access {
            instruction,
            kind,
            pointer,
            extent: Extent::Packed { lane, mask },
        }),
        None => Effect::Unknown,
    };
    let gather = |kind, pointer: Value, vector: Type, mask| match lane_bytes(module, vector) {
        Some(lane) => one(Access {
            instruction,
            kind,
            pointer,
            extent: Extent::Gather {
                lane,
                mask: Mask::Bits(mask),
            },
        }),
        None => Effect::Unknown,
    };
    let stem = |prefix: &str| name == prefix || name.starts_with(&format!("{prefix}."));
    match arguments.as_slice() {
        [to, from, size, ..] if stem("memcpy") || stem("memmove") => Effect::Plain(vec![
            length(instruction, 0, Kind::Write, *to, *size),
            length(instruction, 1, Kind::Read, *from, *size),
        ]),
        [to, _, size, ..] if stem("memset") => one(length(instruction, 0, Kind::Write, *to, *size)),
        [pointer, mask, _] if stem("masked.load") => {
            masked(Kind::Read, *pointer, instruction.kind(), *mask)
        }
        [value, pointer, mask] if stem("masked.store") => {
            masked(Kind::Write, *pointer, value.kind(), *mask)
        }
        [pointers, mask, _] if stem("masked.gather") => {
            gather(Kind::Read, *pointers, instruction.kind(), *mask)
        }
        [value, pointers, mask] if stem("masked.scatter") => {
            gather(Kind::Write, *pointers, value.kind(), *mask)
        }
        [pointer, mask, _] if stem("masked.expandload") => {
            packed(Kind::Read, *pointer, instruction.kind(), *mask)
        }
        [value, pointer, mask] if stem("masked.compressstore") => {
            packed(Kind::Write, *pointer, value.kind(), *mask)
        }
        [list] if stem("va_start") => one(bytes(instruction, Kind::Write, *list, VA_LIST_BYTES)),
        [to, from] if stem("va_copy") => Effect::Plain(vec![
            bytes(instruction, Kind::Write, *to, VA_LIST_BYTES),
            bytes(instruction, Kind::Read, *from, VA_LIST_BYTES),
        ]),
        arguments => {
            if let Some(access) = name
                .strip_prefix("x86.")
                .and_then(|name| x86::access(module, instruction, name, arguments))
            {
                one(access)
            } else if touches_nothing(name) || !arguments.iter().any(|a| is_pointer(*a)) {
                Effect::Nothing
            } else {
                Effect::Unknown
            }
        }
    }
}

fn is_pointer(value: Value) -> bool {
    value.kind().kind() == TypeKind::LLVMPointerTypeKind
}

/// Intrinsics with a pointer argument that read and write none of the program's memory.
fn touches_nothing(name: &str) -> bool {
    [
        "assume",
        "dbg.",
        "experimental.noalias",
        "fake.use",
        "invariant.",
        "is.constant",
        "launder.",
        "lifetime.",
        "objectsize",
        "prefetch",
        "ptr.annotation",
        "ptrmask",
        "returnaddress",
        "frameaddress",
        "strip.",
        "threadlocal.address",
        "type.test",
        "type.checked.load",
        "public.type.test",
        "var.annotation",
        "va_end",
        "stackrestore",
        "annotation",
        "eh.",
        "expect",
        "icall.branch.funnel",
        "localescape",
        "instrprof",
        "pseudoprobe",
        "ssa.copy",
        "load.relative",
        "thread.pointer",
        "preserve.",
        "stackprotector",
        "stackguard",
        "coro.",
        "donothing",
        "sideeffect",
        "codeview",
        "allow.",
        "init.trampoline",
        "adjust.trampoline",
        "read_register",
        "write_register",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
}
