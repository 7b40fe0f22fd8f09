//! Types and their sizes.
use super::{Module, TypeKind};
use llvm_sys::core::*;
use llvm_sys::prelude::LLVMTypeRef;
use llvm_sys::target::{LLVMABISizeOfType, LLVMOffsetOfElement, LLVMStoreSizeOfType};

/// A type of the module's context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Type(pub(super) LLVMTypeRef);

impl Type {
    pub(crate) fn kind(self) -> TypeKind {
        llvm!(LLVMGetTypeKind, self.0)
    }

    /// Has a size that is known before the program runs (no scalable vector, no opaque type).
    pub(crate) fn is_sized(self) -> bool {
        llvm!(LLVMTypeIsSized, self.0) != 0 && !self.contains_scalable()
    }

    fn contains_scalable(self) -> bool {
        match self.kind() {
            TypeKind::LLVMScalableVectorTypeKind | TypeKind::LLVMTargetExtTypeKind => true,
            TypeKind::LLVMArrayTypeKind => self.element().contains_scalable(),
            TypeKind::LLVMStructTypeKind => self.fields().any(Type::contains_scalable),
            _ => false,
        }
    }

    /// Bytes that a store of this type writes. The type is sized.
    pub(crate) fn store_size(self, module: Module) -> u64 {
        debug_assert!(self.is_sized());
        llvm!(LLVMStoreSizeOfType, module.layout(), self.0)
    }

    /// Bytes from one element of an array of this type to the next. The type is sized.
    pub(crate) fn stride(self, module: Module) -> u64 {
        debug_assert!(self.is_sized());
        llvm!(LLVMABISizeOfType, module.layout(), self.0)
    }

    /// Bits of an integer type, 0 for others.
    pub(crate) fn integer_bits(self) -> u32 {
        match self.kind() {
            TypeKind::LLVMIntegerTypeKind => llvm!(LLVMGetIntTypeWidth, self.0),
            _ => 0,
        }
    }

    /// Element type of an array or vector type.
    pub(crate) fn element(self) -> Type {
        Type(llvm!(LLVMGetElementType, self.0))
    }

    /// Number of elements of an array or fixed vector, 1 for others.
    pub(crate) fn length(self) -> u64 {
        match self.kind() {
            TypeKind::LLVMArrayTypeKind => llvm!(LLVMGetArrayLength2, self.0),
            TypeKind::LLVMVectorTypeKind => u64::from(llvm!(LLVMGetVectorSize, self.0)),
            _ => 1,
        }
    }

    /// Field types of a struct type.
    pub(crate) fn fields(self) -> impl Iterator<Item = Type> {
        let count = match self.kind() {
            TypeKind::LLVMStructTypeKind => llvm!(LLVMCountStructElementTypes, self.0),
            _ => 0,
        };
        (0..count).map(move |index| Type(llvm!(LLVMStructGetTypeAtIndex, self.0, index)))
    }

    /// Offset of a field of a struct type.
    pub(crate) fn field_offset(self, module: Module, index: u32) -> u64 {
        debug_assert!(self.kind() == TypeKind::LLVMStructTypeKind);
        llvm!(LLVMOffsetOfElement, module.layout(), self.0, index)
    }

    /// An array of `length` of this type.
    pub(crate) fn array(self, length: u64) -> Type {
        Type(llvm!(LLVMArrayType2, self.0, length))
    }

    /// A vector of `length` of this type.
    pub(crate) fn vector(self, length: u64) -> Type {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        Type(llvm!(LLVMVectorType, self.0, length))
    }

    /// Of a function type: takes more arguments than it has parameters.
    pub(crate) fn is_variadic(self) -> bool {
        llvm!(LLVMIsFunctionVarArg, self.0) != 0
    }

    /// Of a function type.
    pub(crate) fn parameters(self) -> Vec<Type> {
        let count = llvm!(LLVMCountParamTypes, self.0);
        let mut raw = vec![std::ptr::null_mut(); count as usize];
        llvm!(LLVMGetParamTypes, self.0, raw.as_mut_ptr());
        raw.into_iter().map(Type).collect()
    }
}
