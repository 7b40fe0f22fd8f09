//! Can another thread reach this stack slot or thread-local variable?
//!
//! # Contract
//!
//! `private` answers yes only if the object's address is used by this thread's own loads, stores,
//! memory intrinsics, comparisons and by calls that promise not to keep a copy of it (LLVM's
//! `captures` without provenance). It does not look at the order of things: an address that is given away at the end of a
//! function has escaped from its beginning. So a skipped check can hide no race, and the price of caution is a check.
use crate::address::is_thread_local_address;
use crate::llvm::{Opcode, Value};
use std::collections::HashMap;

/// Uses that are followed for one object.
const USES: usize = 512;

/// Answers, remembered for each object.
#[derive(Debug, Default)]
pub(crate) struct Escape {
    known: HashMap<Value, bool>,
}

impl Escape {
    /// Is the alloca, `byval` argument or module-local thread-local variable out of reach for other threads?
    pub(crate) fn private(&mut self, object: Value) -> bool {
        *self
            .known
            .entry(object)
            .or_insert_with(|| stays(object).is_some())
    }
}

/// The bits of `captures` that let someone access memory through the copy: provenance, for reads
/// or for everything.
const PROVENANCE: u64 = 0b1100;

fn stays(object: Value) -> Option<()> {
    let mut pointers = vec![object];
    let mut next = 0;
    let mut budget = USES;
    while let Some(pointer) = pointers.get(next).copied() {
        next += 1;
        for user in pointer.users() {
            budget = budget.checked_sub(1)?;
            let derived = match user.opcode()? {
                Opcode::LLVMLoad | Opcode::LLVMICmp | Opcode::LLVMVAArg => false,
                Opcode::LLVMStore | Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg => {
                    only_address(user, pointer)?;
                    false
                }
                Opcode::LLVMGetElementPtr
                | Opcode::LLVMBitCast
                | Opcode::LLVMPHI
                | Opcode::LLVMSelect
                | Opcode::LLVMFreeze => true,
                Opcode::LLVMCall | Opcode::LLVMInvoke => passed(user, pointer)?,
                _ => return None,
            };
            if derived && !pointers.contains(&user) {
                pointers.push(user);
            }
        }
    }
    Some(())
}

/// The pointer is where the instruction stores, not what it stores.
fn only_address(instruction: Value, pointer: Value) -> Option<()> {
    let address = match instruction.opcode()? {
        Opcode::LLVMStore => 1,
        _ => 0,
    };
    (0u32..)
        .zip(instruction.operands())
        .all(|(index, operand)| index == address || operand != pointer)
        .then_some(())
}

/// The call keeps no copy; the answer says whether its result may be one.
fn passed(call: Value, pointer: Value) -> Option<bool> {
    let callee = call.callee()?;
    if callee == pointer {
        return None;
    }
    if is_thread_local_address(call) {
        return Some(true);
    }
    let name = if callee.is_function() {
        callee.name()
    } else {
        String::new()
    };
    if harmless(&name) {
        return Some(false);
    }
    if name.starts_with("llvm.launder.") || name.starts_with("llvm.strip.") {
        return Some(true);
    }
    let arguments = call.arguments();
    let mut in_result = false;
    let mut as_argument = false;
    for (index, argument) in (0u32..).zip(arguments) {
        if argument != pointer {
            continue;
        }
        as_argument = true;
        if call.argument_type_attribute(index, "byval").is_some() {
            continue;
        }
        let captures = call.argument_attribute(index, "captures")?;
        let (elsewhere, result) = (captures >> 4, captures & 15);
        if elsewhere & PROVENANCE != 0 {
            return None;
        }
        in_result |= result & PROVENANCE != 0;
    }
    // As an operand of a bundle it may go anywhere, except into an assumption.
    as_argument.then_some(in_result)
}

/// Intrinsics that use a pointer for nothing but an access, or for less.
fn harmless(name: &str) -> bool {
    name.strip_prefix("llvm.").is_some_and(|name| {
        [
            "lifetime.",
            "memcpy.",
            "memmove.",
            "memset.",
            "assume",
            "va_start",
            "va_end",
            "va_copy",
            "prefetch",
            "dbg.",
            "objectsize",
            "masked.load.",
            "masked.expandload",
            "x86.sse3.ldu",
            "x86.avx.ldu",
            "x86.avx.mask",
            "x86.avx2.mask",
            "x86.avx2.gather",
            "fake.use",
            "invariant.end",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix))
    })
}

/// Objects that could be private: stack slots, copies of `byval` arguments, and thread-local variables
/// of this module only; others may be named by another module.
pub(crate) fn is_candidate(object: Value) -> bool {
    object.is_alloca()
        || object.is_byval_argument()
        || (object.is_thread_local() && object.is_local())
}
