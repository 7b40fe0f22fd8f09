//! Values: functions, globals, instructions, arguments, constants.
use super::module::{Attribute, attribute_kind, name_of};
use super::{Linkage, Location, Opcode, Ordering, Type};
use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMGetSubprogram, LLVMInstructionGetDebugLoc};
use llvm_sys::prelude::{LLVMBasicBlockRef, LLVMValueRef};
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMThreadLocalMode};

/// LLVM's number of the calling convention `preserve_mostcc`.
const PRESERVE_MOST: u32 = 14;

/// Any value of the module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Value(pub(super) LLVMValueRef);

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Block(pub(super) LLVMBasicBlockRef);

macro_rules! is {
    ($($(#[$doc:meta])* $name:ident = $function:ident),* $(,)?) => {
        $($(#[$doc])* pub(crate) fn $name(self) -> bool {
            !llvm!($function, self.0).is_null()
        })*
    };
}

impl Value {
    pub(super) fn new(raw: LLVMValueRef) -> Option<Value> {
        (!raw.is_null()).then_some(Value(raw))
    }

    is! {
        is_function = LLVMIsAFunction,
        is_global_variable = LLVMIsAGlobalVariable,
        is_instruction = LLVMIsAInstruction,
        is_argument = LLVMIsAArgument,
        is_alloca = LLVMIsAAllocaInst,
        is_constant_expression = LLVMIsAConstantExpr,
        is_inline_asm = LLVMIsAInlineAsm,
        is_integer_constant = LLVMIsAConstantInt,
    }

    /// A call, invoke or callbr.
    pub(crate) fn is_call(self) -> bool {
        matches!(
            self.opcode(),
            Some(Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr)
        ) && self.is_instruction()
    }

    pub(crate) fn kind(self) -> Type {
        Type(llvm!(LLVMTypeOf, self.0))
    }

    pub(crate) fn name(self) -> String {
        name_of(self)
    }

    /// The instruction's or constant expression's opcode.
    pub(crate) fn opcode(self) -> Option<Opcode> {
        if self.is_instruction() {
            Some(llvm!(LLVMGetInstructionOpcode, self.0))
        } else if self.is_constant_expression() {
            Some(llvm!(LLVMGetConstOpcode, self.0))
        } else {
            None
        }
    }

    /// Number of operands; 0 for what is no user.
    pub(crate) fn operand_count(self) -> u32 {
        if llvm!(LLVMIsAUser, self.0).is_null() {
            return 0;
        }
        u32::try_from(llvm!(LLVMGetNumOperands, self.0)).unwrap_or(0)
    }

    /// The operand, if there is one of this number.
    pub(crate) fn operand(self, index: u32) -> Option<Value> {
        if index >= self.operand_count() {
            return None;
        }
        Value::new(llvm!(LLVMGetOperand, self.0, index))
    }

    pub(crate) fn operands(self) -> impl Iterator<Item = Value> {
        (0..self.operand_count()).filter_map(move |index| self.operand(index))
    }

    /// Everything that uses this value, once for each operand that is it.
    pub(crate) fn users(self) -> impl Iterator<Item = Value> {
        let first = llvm!(LLVMGetFirstUse, self.0);
        std::iter::successors((!first.is_null()).then_some(first), |now| {
            let next = llvm!(LLVMGetNextUse, *now);
            (!next.is_null()).then_some(next)
        })
        .map(|now| Value(llvm!(LLVMGetUser, now)))
    }

    /// The value of an integer constant of up to 64 bits.
    pub(crate) fn as_u64(self) -> Option<u64> {
        (self.is_integer_constant() && self.kind().integer_bits() <= 64)
            .then(|| llvm!(LLVMConstIntGetZExtValue, self.0))
    }

    /// The value of an integer constant of up to 64 bits, sign-extended.
    pub(crate) fn as_i64(self) -> Option<i64> {
        (self.is_integer_constant() && self.kind().integer_bits() <= 64)
            .then(|| llvm!(LLVMConstIntGetSExtValue, self.0))
    }

    // Instructions.

    /// An instruction with an atomic order; a fence too.
    pub(crate) fn is_atomic(self) -> bool {
        self.is_instruction() && llvm!(LLVMIsAtomic, self.0) != 0
    }

    /// Of an atomic instruction or fence: orders nothing between threads.
    pub(crate) fn is_single_thread(self) -> bool {
        llvm!(LLVMIsAtomicSingleThread, self.0) != 0
    }

    /// Of a load, store, fence or read-modify-write.
    pub(crate) fn ordering(self) -> Ordering {
        llvm!(LLVMGetOrdering, self.0)
    }

    /// Of a compare-exchange: the orders on success and on failure.
    pub(crate) fn exchange_orderings(self) -> (Ordering, Ordering) {
        let success = llvm!(LLVMGetCmpXchgSuccessOrdering, self.0);
        (success, llvm!(LLVMGetCmpXchgFailureOrdering, self.0))
    }

    /// Of a load, store, alloca, global or atomic operation.
    /// Of an access: volatile?
    pub(crate) fn is_volatile(self) -> bool {
        llvm!(LLVMGetVolatile, self.0) != 0
    }

    pub(crate) fn alignment(self) -> u64 {
        u64::from(llvm!(LLVMGetAlignment, self.0))
    }

    /// Of a `getelementptr`.
    pub(crate) fn gep_source(self) -> Type {
        Type(llvm!(LLVMGetGEPSourceElementType, self.0))
    }

    /// Of a call, invoke or callbr: what is called.
    pub(crate) fn callee(self) -> Option<Value> {
        if !self.is_call() {
            return None;
        }
        Value::new(llvm!(LLVMGetCalledValue, self.0))
    }

    /// Of a call, invoke or callbr: the arguments.
    /// Calls another function of the same type instead.
    pub(crate) fn set_callee(self, callee: Value) {
        let last = self.operand_count().saturating_sub(1);
        llvm!(LLVMSetOperand, self.0, last, callee.0);
    }

    pub(crate) fn arguments(self) -> Vec<Value> {
        let count = llvm!(LLVMGetNumArgOperands, self.0);
        (0..count).filter_map(|index| self.operand(index)).collect()
    }

    /// Of a call: must be the last thing before the return.
    pub(crate) fn is_must_tail(self) -> bool {
        self.opcode() == Some(Opcode::LLVMCall)
            && llvm!(LLVMGetTailCallKind, self.0)
                == llvm_sys::LLVMTailCallKind::LLVMTailCallKindMustTail
    }

    /// Of a call: never a jump, so that the return address is in this function.
    pub(crate) fn set_no_tail(self) {
        let kind = llvm_sys::LLVMTailCallKind::LLVMTailCallKindNoTail;
        llvm!(LLVMSetTailCallKind, self.0, kind);
    }

    /// Of a function: it keeps nearly all general registers. Its calls have to say so too.
    pub(crate) fn set_preserve_most(self) {
        llvm!(LLVMSetFunctionCallConv, self.0, PRESERVE_MOST);
    }

    /// The same of a call.
    pub(crate) fn set_call_preserve_most(self) {
        llvm!(LLVMSetInstructionCallConv, self.0, PRESERVE_MOST);
    }

    /// Value of an attribute of parameter `index` as the call states it, or as the callee does.
    pub(crate) fn argument_attribute(self, index: u32, name: &str) -> Option<u64> {
        let kind = attribute_kind(name)?;
        let here = llvm!(LLVMGetCallSiteEnumAttribute, self.0, index + 1, kind);
        if !here.is_null() {
            return Some(llvm!(LLVMGetEnumAttributeValue, here));
        }
        let callee = self.callee().filter(|callee| callee.is_function())?;
        let there = llvm!(LLVMGetEnumAttributeAtIndex, callee.0, index + 1, kind);
        (!there.is_null()).then(|| llvm!(LLVMGetEnumAttributeValue, there))
    }

    /// Type of a type attribute of parameter `index`, such as `byval`.
    pub(crate) fn argument_type_attribute(self, index: u32, name: &str) -> Option<Type> {
        let kind = attribute_kind(name)?;
        let here = llvm!(LLVMGetCallSiteEnumAttribute, self.0, index + 1, kind);
        if !here.is_null() {
            return Some(Type(llvm!(LLVMGetTypeAttributeValue, here)));
        }
        let callee = self.callee().filter(|callee| callee.is_function())?;
        let there = llvm!(LLVMGetEnumAttributeAtIndex, callee.0, index + 1, kind);
        (!there.is_null()).then(|| Type(llvm!(LLVMGetTypeAttributeValue, there)))
    }

    pub(crate) fn add_call_attribute(self, attribute: Attribute) {
        llvm!(
            LLVMAddCallSiteAttribute,
            self.0,
            LLVMAttributeFunctionIndex,
            attribute.0
        );
    }

    /// Of a call: has it the attribute with this name, which LLVM does not know?
    pub(crate) fn has_call_mark(self, name: &str) -> bool {
        let attribute = llvm!(
            LLVMGetCallSiteStringAttribute,
            self.0,
            LLVMAttributeFunctionIndex,
            name.as_ptr().cast(),
            u32::try_from(name.len()).unwrap_or(u32::MAX)
        );
        !attribute.is_null()
    }

    pub(crate) fn has_metadata(self, kind: u32) -> bool {
        !llvm!(LLVMGetMetadata, self.0, kind).is_null()
    }

    pub(crate) fn location(self) -> Option<Location> {
        Location::new(llvm!(LLVMInstructionGetDebugLoc, self.0))
    }

    /// Of an instruction: everyone uses `other` instead, and the instruction is gone. The caller holds no
    /// other handle of it.
    pub(crate) fn replace_by(self, other: Value) {
        llvm!(LLVMReplaceAllUsesWith, self.0, other.0);
        llvm!(LLVMInstructionEraseFromParent, self.0);
    }

    /// Of an instruction that nobody uses: it is gone. The caller holds no other handle of it.
    pub(crate) fn erase(self) {
        llvm!(LLVMInstructionEraseFromParent, self.0);
    }

    /// Everyone uses `other`, of the same type, instead.
    pub(crate) fn replace_all_uses(self, other: Value) {
        llvm!(LLVMReplaceAllUsesWith, self.0, other.0);
    }

    pub(crate) fn next(self) -> Option<Value> {
        Value::new(llvm!(LLVMGetNextInstruction, self.0))
    }

    /// An argument that is the function's own copy of what the caller passed.
    pub(crate) fn is_byval_argument(self) -> bool {
        let Some(kind) = attribute_kind("byval").filter(|_| self.is_argument()) else {
            return false;
        };
        let function = Value(llvm!(LLVMGetParamParent, self.0));
        let count = llvm!(LLVMCountParams, function.0);
        (0..count).any(|index| {
            llvm!(LLVMGetParam, function.0, index) == self.0
                && !llvm!(LLVMGetEnumAttributeAtIndex, function.0, index + 1, kind).is_null()
        })
    }

    /// Of a call, invoke or callbr: the type it calls the function by.
    pub(crate) fn called_type(self) -> Type {
        Type(llvm!(LLVMGetCalledFunctionType, self.0))
    }

    // Functions and globals.

    /// Of a function: the parameter, if there is one of this number.
    pub(crate) fn parameter(self, index: u32) -> Option<Value> {
        (index < llvm!(LLVMCountParams, self.0)).then(|| Value(llvm!(LLVMGetParam, self.0, index)))
    }

    pub(crate) fn is_declaration(self) -> bool {
        llvm!(LLVMIsDeclaration, self.0) != 0
    }

    pub(crate) fn linkage(self) -> Linkage {
        llvm!(LLVMGetLinkage, self.0)
    }

    pub(crate) fn set_linkage(self, linkage: Linkage) {
        llvm!(LLVMSetLinkage, self.0, linkage);
    }

    pub(crate) fn is_local(self) -> bool {
        matches!(
            self.linkage(),
            Linkage::LLVMInternalLinkage | Linkage::LLVMPrivateLinkage
        )
    }

    pub(crate) fn is_constant_global(self) -> bool {
        self.is_global_variable() && llvm!(LLVMIsGlobalConstant, self.0) != 0
    }

    pub(crate) fn is_thread_local(self) -> bool {
        self.is_global_variable() && llvm!(LLVMIsThreadLocal, self.0) != 0
    }

    pub(crate) fn set_thread_local_initial_exec(self) {
        let mode = LLVMThreadLocalMode::LLVMInitialExecTLSModel;
        llvm!(LLVMSetThreadLocalMode, self.0, mode);
    }

    /// For a load or a store: it happens as often as it is written, and nobody knows what it finds.
    pub(crate) fn set_volatile(self) {
        llvm!(LLVMSetVolatile, self.0, 1);
    }

    pub(crate) fn set_initializer(self, value: Value) {
        llvm!(LLVMSetInitializer, self.0, value.0);
    }

    pub(crate) fn set_constant(self) {
        llvm!(LLVMSetGlobalConstant, self.0, 1);
    }

    pub(crate) fn set_alignment(self, bytes: u32) {
        llvm!(LLVMSetAlignment, self.0, bytes);
    }

    pub(crate) fn set_section(self, name: &str) {
        let name = std::ffi::CString::new(name).unwrap_or_default();
        llvm!(LLVMSetSection, self.0, name.as_ptr());
    }

    pub(crate) fn has_attribute(self, name: &str) -> bool {
        attribute_kind(name).is_some_and(|kind| {
            !llvm!(
                LLVMGetEnumAttributeAtIndex,
                self.0,
                LLVMAttributeFunctionIndex,
                kind
            )
            .is_null()
        })
    }

    pub(crate) fn add_attribute(self, attribute: Attribute) {
        llvm!(
            LLVMAddAttributeAtIndex,
            self.0,
            LLVMAttributeFunctionIndex,
            attribute.0
        );
    }

    pub(crate) fn add_parameter_attribute(self, index: u32, attribute: Attribute) {
        llvm!(LLVMAddAttributeAtIndex, self.0, index + 1, attribute.0);
    }

    pub(crate) fn remove_attribute(self, name: &str) {
        if let Some(kind) = attribute_kind(name) {
            llvm!(
                LLVMRemoveEnumAttributeAtIndex,
                self.0,
                LLVMAttributeFunctionIndex,
                kind
            );
        }
    }

    /// Of a function.
    pub(crate) fn function_type(self) -> Type {
        Type(llvm!(LLVMGlobalGetValueType, self.0))
    }

    /// Of a function with debug information: the line it starts on, as a location.
    pub(crate) fn start_location(self, context: super::Context) -> Option<Location> {
        let subprogram = llvm!(LLVMGetSubprogram, self.0);
        if subprogram.is_null() {
            return None;
        }
        let line = llvm!(llvm_sys::debuginfo::LLVMDISubprogramGetLine, subprogram);
        Location::new(llvm!(
            llvm_sys::debuginfo::LLVMDIBuilderCreateDebugLocation,
            context.raw(),
            line,
            0,
            subprogram,
            std::ptr::null_mut(),
        ))
    }

    pub(crate) fn blocks(self) -> Vec<Block> {
        let first = llvm!(LLVMGetFirstBasicBlock, self.0);
        std::iter::successors((!first.is_null()).then_some(Block(first)), |block| {
            let next = llvm!(LLVMGetNextBasicBlock, block.0);
            (!next.is_null()).then_some(Block(next))
        })
        .collect()
    }
}

impl Block {
    pub(crate) fn instructions(self) -> Vec<Value> {
        std::iter::successors(Value::new(llvm!(LLVMGetFirstInstruction, self.0)), |now| {
            now.next()
        })
        .collect()
    }

    pub(crate) fn terminator(self) -> Option<Value> {
        Value::new(llvm!(LLVMGetBasicBlockTerminator, self.0))
    }
}
