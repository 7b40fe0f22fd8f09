//! Can another thread reach this stack slot, thread-local variable or block of the heap?
//!
//! # Contract
//!
//! `private` answers yes only if the object's address is used by this thread's own loads, stores,
//! memory intrinsics, comparisons, by its allocator, and by calls that keep no copy of it: they promise so (LLVM's
//! `captures` without provenance), or their bodies do the same things with it. It does not look at the order of things: an address that is given away at the end of a
//! function has escaped from its beginning. So a skipped check can hide no race, and the price of caution is a check.
use crate::address::is_thread_local_address;
use crate::heap::{Block, Heap};
use crate::llvm::{Linkage, Module, Opcode, Value};
use std::collections::HashMap;

/// Uses that are followed for one object.
const USES: usize = 512;

/// Calls that are followed into their callees.
const DEPTH: usize = 16;

/// Answers, remembered for each object.
#[derive(Debug)]
pub(crate) struct Escape {
    heap: Heap,
    known: HashMap<Value, bool>,
}

/// The bits of `captures` that let someone access memory through the copy: provenance, for reads
/// or for everything.
const PROVENANCE: u64 = 0b1100;

impl Escape {
    pub(crate) fn new(module: Module) -> Escape {
        Escape {
            heap: Heap::new(module),
            known: HashMap::new(),
        }
    }

    /// Is the alloca, `byval` argument, module-local thread-local variable or block out of reach for other threads?
    pub(crate) fn private(&mut self, object: Value) -> bool {
        self.keeps(object, DEPTH)
    }

    /// Objects that could be private: stack slots, copies of `byval` arguments, new blocks, and thread-local variables
    /// of this module only; others may be named by another module.
    pub(crate) fn is_candidate(&self, object: Value) -> bool {
        object.is_alloca()
            || object.is_byval_argument()
            || (object.is_thread_local() && object.is_local())
            || self.is_block(object)
    }

    /// Is it a new block of the heap?
    pub(crate) fn is_block(&self, object: Value) -> bool {
        object.is_call() && self.heap.block(object) == Some(Block::Given)
    }

    /// The block that the call enlarges or moves; the result may be the same memory.
    pub(crate) fn moved(&self, call: Value) -> Option<Value> {
        (call.is_call() && self.heap.block(call) == Some(Block::Moved))
            .then(|| call.operand(0))
            .flatten()
    }

    /// The same for an object or a parameter, whose memory is out of reach as far as its function is concerned.
    fn keeps(&mut self, object: Value, depth: usize) -> bool {
        if let Some(known) = self.known.get(&object) {
            return *known;
        }
        // What is asked again on the way, in a recursion, is not followed.
        self.known.insert(object, false);
        let keeps = self.stays(object, depth).is_some();
        self.known.insert(object, keeps);
        keeps
    }

    fn stays(&mut self, object: Value, depth: usize) -> Option<()> {
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
                    Opcode::LLVMCall | Opcode::LLVMInvoke => self.passed(user, pointer, depth)?,
                    _ => return None,
                };
                if derived && !pointers.contains(&user) {
                    pointers.push(user);
                }
            }
        }
        Some(())
    }

    /// The call keeps no copy; the answer says whether its result may be one.
    fn passed(&mut self, call: Value, pointer: Value, depth: usize) -> Option<bool> {
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
        match self.heap.block(call) {
            Some(Block::Taken) => return Some(false),
            Some(Block::Moved) => return Some(true),
            _ => {}
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
            match call.argument_attribute(index, "captures") {
                Some(captures) if (captures >> 4) & PROVENANCE == 0 => {
                    in_result |= captures & PROVENANCE != 0;
                }
                _ => {
                    let parameter = parameter(call, callee, index)?;
                    if !self.keeps(parameter, depth.checked_sub(1)?) {
                        return None;
                    }
                }
            }
        }
        // As an operand of a bundle it may go anywhere, except into an assumption.
        as_argument.then_some(in_result)
    }
}

/// The parameter that an argument becomes, in the body that is called for sure.
fn parameter(call: Value, callee: Value, index: u32) -> Option<Value> {
    let is_body = callee.is_function()
        && !callee.is_declaration()
        && is_what_is_called(callee)
        && call.called_type() == callee.function_type();
    // Beyond the parameters are those of a variadic function.
    is_body.then(|| callee.parameter(index)).flatten()
}

/// A call of the function runs this body, not one that another module brings.
pub(crate) fn is_what_is_called(function: Value) -> bool {
    !matches!(
        function.linkage(),
        Linkage::LLVMWeakAnyLinkage
            | Linkage::LLVMLinkOnceAnyLinkage
            | Linkage::LLVMExternalWeakLinkage
            | Linkage::LLVMCommonLinkage
    )
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
