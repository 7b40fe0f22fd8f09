//! Where a pointer comes from.
use crate::llvm::{Module, Opcode, TypeKind, Value};

/// A pointer as a value plus a constant number of bytes. Two of them with the same base, in one
/// execution of a block, name the same memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Place {
    pub(crate) base: Value,
    pub(crate) offset: i64,
}

/// Steps of a chain of pointer arithmetic that are followed.
const STEPS: usize = 64;

/// Peels constant offsets off a pointer.
pub(crate) fn place(module: Module, pointer: Value) -> Place {
    let mut place = Place {
        base: pointer,
        offset: 0,
    };
    for _ in 0..STEPS {
        let Some(opcode) = place.base.opcode() else {
            break;
        };
        let Some(inner) = place.base.operand(0) else {
            break;
        };
        let step = match opcode {
            Opcode::LLVMGetElementPtr => constant_offset(module, place.base),
            Opcode::LLVMBitCast => Some(0),
            _ => None,
        };
        let Some(offset) = step.and_then(|step| place.offset.checked_add(step)) else {
            break;
        };
        if inner.kind().kind() != TypeKind::LLVMPointerTypeKind {
            break;
        }
        place = Place {
            base: inner,
            offset,
        };
    }
    place
}

/// The offset of a `getelementptr` whose indices are all constants.
fn constant_offset(module: Module, gep: Value) -> Option<i64> {
    let mut kind = gep.gep_source();
    let mut total: i64 = 0;
    for (position, index) in gep.operands().skip(1).enumerate() {
        let index = index.as_i64()?;
        if position > 0 {
            match kind.kind() {
                TypeKind::LLVMStructTypeKind => {
                    let field = u32::try_from(index).ok()?;
                    let offset = i64::try_from(kind.field_offset(module, field)).ok()?;
                    total = total.checked_add(offset)?;
                    kind = kind.fields().nth(usize::try_from(index).ok()?)?;
                    continue;
                }
                TypeKind::LLVMArrayTypeKind | TypeKind::LLVMVectorTypeKind => kind = kind.element(),
                _ => return None,
            }
        }
        if !kind.is_sized() {
            return None;
        }
        let stride = i64::try_from(kind.stride(module)).ok()?;
        total = total.checked_add(index.checked_mul(stride)?)?;
    }
    Some(total)
}

/// The objects that a pointer can point into, if all are known: allocas, globals, arguments, results of
/// calls and loads. `None` if the search was given up. `moved` gives the pointer whose memory a call's result may be.
pub(crate) fn objects(
    pointer: Value,
    moved: impl Fn(Value) -> Option<Value>,
) -> Option<Vec<Value>> {
    let mut seen = vec![pointer];
    let mut found = Vec::new();
    let mut next = 0;
    while let Some(value) = seen.get(next).copied() {
        next += 1;
        if seen.len() > STEPS {
            return None;
        }
        let inner: Vec<Value> = match value.opcode() {
            Some(Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast | Opcode::LLVMFreeze) => {
                value.operand(0).into_iter().collect()
            }
            Some(Opcode::LLVMPHI) => value.operands().collect(),
            Some(Opcode::LLVMSelect) => value.operands().skip(1).collect(),
            Some(Opcode::LLVMCall) if is_thread_local_address(value) => {
                value.operand(0).into_iter().collect()
            }
            _ => match moved(value) {
                Some(inner) => vec![inner],
                None => {
                    found.push(value);
                    continue;
                }
            },
        };
        for value in inner {
            if !seen.contains(&value) {
                seen.push(value);
            }
        }
    }
    Some(found)
}

/// A call of `llvm.threadlocal.address`: this thread's copy of a thread-local variable.
pub(crate) fn is_thread_local_address(value: Value) -> bool {
    value.callee().is_some_and(|callee| {
        callee.is_function() && callee.name().starts_with("llvm.threadlocal.address")
    })
}
