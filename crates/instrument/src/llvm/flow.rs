//! Control flow and arithmetic: what a static analysis asks of instructions.
use super::{Block, Value, text};
use llvm_sys::core::*;
use llvm_sys::prelude::{LLVMBasicBlockRef, LLVMValueRef};

pub(crate) use llvm_sys::LLVMIntPredicate as Predicate;

// SAFETY: defined in entry.cpp with these signatures.
unsafe extern "C" {
    fn footrace_split_edge(terminator: LLVMValueRef, to: LLVMBasicBlockRef) -> LLVMBasicBlockRef;
    fn footrace_split_if(condition: LLVMValueRef, before: LLVMValueRef) -> LLVMValueRef;
}

/// What `getelementptr` promises about its sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoWrap {
    /// Neither the offset nor the address wraps, the offset seen as signed.
    pub(crate) signed: bool,
}

impl Value {
    /// Of an arithmetic instruction.
    pub(crate) fn no_signed_wrap(self) -> bool {
        self.is_instruction() && llvm!(LLVMGetNSW, self.0) != 0
    }

    /// Of an arithmetic instruction.
    pub(crate) fn no_unsigned_wrap(self) -> bool {
        self.is_instruction() && llvm!(LLVMGetNUW, self.0) != 0
    }

    /// Of a `zext`: the operand is not negative.
    pub(crate) fn is_nonnegative_extension(self) -> bool {
        self.is_instruction() && llvm!(LLVMGetNNeg, self.0) != 0
    }

    /// Of an `or`: no bit is set in both operands, so it is an addition.
    pub(crate) fn is_disjoint(self) -> bool {
        self.is_instruction() && llvm!(LLVMGetIsDisjoint, self.0) != 0
    }

    /// Of a `getelementptr`.
    pub(crate) fn gep_no_wrap(self) -> NoWrap {
        let flags = llvm!(LLVMGEPGetNoWrapFlags, self.0);
        let signed = llvm_sys::LLVMGEPFlagInBounds | llvm_sys::LLVMGEPFlagNUSW;
        NoWrap {
            signed: flags & signed != 0,
        }
    }

    /// Of an `icmp` instruction.
    pub(crate) fn predicate(self) -> Option<Predicate> {
        (!llvm!(LLVMIsAICmpInst, self.0).is_null()).then(|| llvm!(LLVMGetICmpPredicate, self.0))
    }

    /// Of an `icmp` instruction: both operands have the same sign.
    pub(crate) fn same_sign(self) -> bool {
        llvm!(LLVMGetICmpSameSign, self.0) != 0
    }

    /// The null pointer or a zero.
    pub(crate) fn is_null(self) -> bool {
        llvm!(LLVMIsNull, self.0) != 0
    }

    /// Of a terminator.
    pub(crate) fn successors(self) -> Vec<Block> {
        let count = llvm!(LLVMGetNumSuccessors, self.0);
        (0..count)
            .map(|index| Block(llvm!(LLVMGetSuccessor, self.0, index)))
            .collect()
    }

    /// Of a conditional branch: the test.
    pub(crate) fn condition(self) -> Option<Value> {
        (!llvm!(LLVMIsABranchInst, self.0).is_null() && llvm!(LLVMIsConditional, self.0) != 0)
            .then(|| Value(llvm!(LLVMGetCondition, self.0)))
    }

    /// Of an invoke.
    pub(crate) fn normal_destination(self) -> Block {
        Block(llvm!(LLVMGetNormalDest, self.0))
    }

    /// Of an invoke.
    pub(crate) fn unwind_destination(self) -> Block {
        Block(llvm!(LLVMGetUnwindDest, self.0))
    }

    /// Of a phi: the value for each predecessor.
    pub(crate) fn incoming(self) -> Vec<(Block, Value)> {
        let count = llvm!(LLVMCountIncoming, self.0);
        (0..count)
            .map(|index| {
                let block = llvm!(LLVMGetIncomingBlock, self.0, index);
                (
                    Block(block),
                    Value(llvm!(LLVMGetIncomingValue, self.0, index)),
                )
            })
            .collect()
    }

    /// The block of an instruction.
    pub(crate) fn parent(self) -> Block {
        Block(llvm!(LLVMGetInstructionParent, self.0))
    }

    /// Of inline assembly: its text.
    pub(crate) fn assembly(self) -> String {
        let mut length = 0;
        let start = llvm!(LLVMGetInlineAsmAsmString, self.0, &raw mut length);
        text(start, length)
    }

    /// A call, or the function it calls, has an attribute.
    pub(crate) fn call_has(self, name: &str) -> bool {
        let Some(kind) = super::module::attribute_kind(name) else {
            return false;
        };
        let index = llvm_sys::LLVMAttributeFunctionIndex;
        !llvm!(LLVMGetCallSiteEnumAttribute, self.0, index, kind).is_null()
            || self
                .callee()
                .is_some_and(|callee| callee.is_function() && callee.has_attribute(name))
    }

    /// Puts a block on the edge from this terminator to `to`; a landing pad is divided. `None` if the edge
    /// cannot be split.
    pub(crate) fn split_edge(self, to: Block) -> Option<Block> {
        let block = llvm!(footrace_split_edge, self.0, to.0);
        (!block.is_null()).then_some(Block(block))
    }

    /// Makes code before `instruction` that runs if this holds: its terminator.
    pub(crate) fn branch_before(self, instruction: Value) -> Value {
        Value(llvm!(footrace_split_if, self.0, instruction.0))
    }
}
