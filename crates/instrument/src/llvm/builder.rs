//! Inserting instructions.
use super::{Block, Context, Location, Type, Value};
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionSetDebugLoc;
use llvm_sys::prelude::LLVMBuilderRef;

/// Where new instructions go, and the source line they get.
#[derive(Debug)]
pub(crate) struct Builder {
    raw: LLVMBuilderRef,
    context: Context,
    location: Option<Location>,
}

impl Drop for Builder {
    fn drop(&mut self) {
        llvm!(LLVMDisposeBuilder, self.raw);
    }
}

const NAMELESS: *const std::ffi::c_char = c"".as_ptr();

impl Builder {
    pub(crate) fn new(context: Context) -> Builder {
        let raw = llvm!(LLVMCreateBuilderInContext, context.raw());
        Builder {
            raw,
            context,
            location: None,
        }
    }

    pub(crate) fn before(&mut self, instruction: Value, location: Option<Location>) {
        llvm!(LLVMPositionBuilderBefore, self.raw, instruction.0);
        self.location = location;
    }

    pub(crate) fn at_end(&mut self, block: Block) {
        llvm!(LLVMPositionBuilderAtEnd, self.raw, block.0);
        self.location = None;
    }

    /// Adds the first block of a function that has none yet.
    pub(crate) fn add_entry(&mut self, function: Value) {
        let block = llvm!(
            LLVMAppendBasicBlockInContext,
            self.context.raw(),
            function.0,
            NAMELESS,
        );
        self.at_end(Block(block));
    }

    fn done(&self, value: Value) -> Value {
        if let Some(location) = self.location
            && value.is_instruction()
        {
            llvm!(LLVMInstructionSetDebugLoc, value.0, location.raw());
        }
        value
    }

    /// A call of a function.
    pub(crate) fn call(&self, function: Value, arguments: &[Value]) -> Value {
        let mut raw: Vec<_> = arguments.iter().map(|value| value.0).collect();
        let count = u32::try_from(raw.len()).unwrap_or(0);
        let kind = function.function_type();
        self.done(Value(llvm!(
            LLVMBuildCall2,
            self.raw,
            kind.0,
            function.0,
            raw.as_mut_ptr(),
            count,
            NAMELESS,
        )))
    }

    /// A call of an intrinsic that is overloaded on one type and takes and gives back that type.
    pub(crate) fn unary_intrinsic(&self, module: super::Module, name: &str, value: Value) -> Value {
        let mut overload = [value.kind().0];
        let id = llvm!(LLVMLookupIntrinsicID, name.as_ptr().cast(), name.len());
        let function = llvm!(
            LLVMGetIntrinsicDeclaration,
            module.raw(),
            id,
            overload.as_mut_ptr(),
            1,
        );
        let kind = llvm!(
            LLVMIntrinsicGetType,
            self.context.raw(),
            id,
            overload.as_mut_ptr(),
            1,
        );
        let mut arguments = [value.0];
        self.done(Value(llvm!(
            LLVMBuildCall2,
            self.raw,
            kind,
            function,
            arguments.as_mut_ptr(),
            1,
            NAMELESS,
        )))
    }

    pub(crate) fn return_nothing(&self) {
        self.done(Value(llvm!(LLVMBuildRetVoid, self.raw)));
    }

    pub(crate) fn load(&self, kind: Type, pointer: Value) -> Value {
        self.done(Value(llvm!(
            LLVMBuildLoad2,
            self.raw,
            kind.0,
            pointer.0,
            NAMELESS
        )))
    }

    pub(crate) fn store(&self, value: Value, pointer: Value) -> Value {
        self.done(Value(llvm!(LLVMBuildStore, self.raw, value.0, pointer.0)))
    }

    pub(crate) fn xor(&self, left: Value, right: Value) -> Value {
        self.done(Value(llvm!(
            LLVMBuildXor,
            self.raw,
            left.0,
            right.0,
            NAMELESS
        )))
    }

    pub(crate) fn multiply(&self, left: Value, right: Value) -> Value {
        self.done(Value(llvm!(
            LLVMBuildMul,
            self.raw,
            left.0,
            right.0,
            NAMELESS
        )))
    }

    pub(crate) fn add(&self, left: Value, right: Value) -> Value {
        self.done(Value(llvm!(
            LLVMBuildAdd,
            self.raw,
            left.0,
            right.0,
            NAMELESS
        )))
    }

    pub(crate) fn subtract(&self, left: Value, right: Value) -> Value {
        self.done(Value(llvm!(
            LLVMBuildSub,
            self.raw,
            left.0,
            right.0,
            NAMELESS
        )))
    }

    pub(crate) fn and(&self, left: Value, right: Value) -> Value {
        self.done(Value(llvm!(
            LLVMBuildAnd,
            self.raw,
            left.0,
            right.0,
            NAMELESS
        )))
    }

    /// The quotient of unsigned integers.
    pub(crate) fn divide(&self, left: Value, right: Value) -> Value {
        self.done(Value(llvm!(
            LLVMBuildUDiv,
            self.raw,
            left.0,
            right.0,
            NAMELESS
        )))
    }

    fn compare(&self, predicate: llvm_sys::LLVMIntPredicate, left: Value, right: Value) -> Value {
        self.done(Value(llvm!(
            LLVMBuildICmp,
            self.raw,
            predicate,
            left.0,
            right.0,
            NAMELESS
        )))
    }

    pub(crate) fn are_equal(&self, left: Value, right: Value) -> Value {
        self.compare(llvm_sys::LLVMIntPredicate::LLVMIntEQ, left, right)
    }

    /// Is `left`, without a sign, no less than `right`?
    pub(crate) fn reaches(&self, left: Value, right: Value) -> Value {
        self.compare(llvm_sys::LLVMIntPredicate::LLVMIntUGE, left, right)
    }

    pub(crate) fn is_zero(&self, value: Value) -> Value {
        self.compare_zero(llvm_sys::LLVMIntPredicate::LLVMIntEQ, value)
    }

    pub(crate) fn pointer_to_integer(&self, value: Value, kind: Type) -> Value {
        self.done(Value(llvm!(
            LLVMBuildPtrToInt,
            self.raw,
            value.0,
            kind.0,
            NAMELESS
        )))
    }

    pub(crate) fn integer_to_pointer(&self, value: Value, kind: Type) -> Value {
        self.done(Value(llvm!(
            LLVMBuildIntToPtr,
            self.raw,
            value.0,
            kind.0,
            NAMELESS
        )))
    }

    pub(crate) fn stack_slot(&self, kind: Type) -> Value {
        self.done(Value(llvm!(LLVMBuildAlloca, self.raw, kind.0, NAMELESS)))
    }

    pub(crate) fn select(&self, condition: Value, yes: Value, no: Value) -> Value {
        self.done(Value(llvm!(
            LLVMBuildSelect,
            self.raw,
            condition.0,
            yes.0,
            no.0,
            NAMELESS,
        )))
    }

    /// Widens an integer with zeros, or drops its upper bits.
    pub(crate) fn to_integer(&self, value: Value, kind: Type) -> Value {
        let (have, want) = (value.kind().integer_bits(), kind.integer_bits());
        match have.cmp(&want) {
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Less => self.done(Value(llvm!(
                LLVMBuildZExt,
                self.raw,
                value.0,
                kind.0,
                NAMELESS
            ))),
            std::cmp::Ordering::Greater => self.done(Value(llvm!(
                LLVMBuildTrunc,
                self.raw,
                value.0,
                kind.0,
                NAMELESS
            ))),
        }
    }

    /// Widens a signed integer, or drops its upper bits.
    pub(crate) fn to_signed(&self, value: Value, kind: Type) -> Value {
        self.done(Value(llvm!(
            LLVMBuildSExtOrBitCast,
            self.raw,
            value.0,
            kind.0,
            NAMELESS
        )))
    }

    pub(crate) fn bit_cast(&self, value: Value, kind: Type) -> Value {
        self.done(Value(llvm!(
            LLVMBuildBitCast,
            self.raw,
            value.0,
            kind.0,
            NAMELESS
        )))
    }

    fn compare_zero(&self, predicate: llvm_sys::LLVMIntPredicate, value: Value) -> Value {
        let zero = llvm!(LLVMConstNull, value.kind().0);
        self.done(Value(llvm!(
            LLVMBuildICmp,
            self.raw,
            predicate,
            value.0,
            zero,
            NAMELESS
        )))
    }

    /// Is it below zero? Lane by lane for vectors of integers.
    pub(crate) fn is_negative(&self, value: Value) -> Value {
        self.compare_zero(llvm_sys::LLVMIntPredicate::LLVMIntSLT, value)
    }

    pub(crate) fn extract_field(&self, value: Value, index: u32) -> Value {
        self.done(Value(llvm!(
            LLVMBuildExtractValue,
            self.raw,
            value.0,
            index,
            NAMELESS
        )))
    }

    /// A structure of these fields.
    pub(crate) fn structure(&self, kind: Type, fields: &[Value]) -> Value {
        let mut whole = Value(llvm!(LLVMGetPoison, kind.0));
        for (index, field) in (0..).zip(fields) {
            whole = self.done(Value(llvm!(
                LLVMBuildInsertValue,
                self.raw,
                whole.0,
                field.0,
                index,
                NAMELESS
            )));
        }
        whole
    }

    pub(crate) fn extract_lane(&self, vector: Value, lane: u64) -> Value {
        let index = self.context.integer(32).constant(lane);
        self.done(Value(llvm!(
            LLVMBuildExtractElement,
            self.raw,
            vector.0,
            index.0,
            NAMELESS
        )))
    }

    /// Lanes `first .. first + count` of a vector; lanes past its end are false or poison.
    pub(crate) fn slice(&self, vector: Value, first: u64, count: u64) -> Value {
        let i32 = self.context.integer(32);
        let mut lanes: Vec<_> = (first..first + count)
            .map(|lane| i32.constant(lane).0)
            .collect();
        let length = u32::try_from(lanes.len()).unwrap_or(0);
        let mask = llvm!(LLVMConstVector, lanes.as_mut_ptr(), length);
        let other = llvm!(LLVMGetPoison, vector.kind().0);
        self.done(Value(llvm!(
            LLVMBuildShuffleVector,
            self.raw,
            vector.0,
            other,
            mask,
            NAMELESS,
        )))
    }

    /// `pointer + bytes`.
    pub(crate) fn offset(&self, pointer: Value, bytes: Value) -> Value {
        let byte = self.context.integer(8);
        let mut indices = [bytes.0];
        self.done(Value(llvm!(
            LLVMBuildGEP2,
            self.raw,
            byte.0,
            pointer.0,
            indices.as_mut_ptr(),
            1,
            NAMELESS,
        )))
    }
}
