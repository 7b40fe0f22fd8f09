//! Debug locations: where in the sources an instruction comes from.
use super::text;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::LLVMMetadataRef;

/// A debug location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Location(LLVMMetadataRef);

impl Location {
    pub(super) fn new(raw: LLVMMetadataRef) -> Option<Location> {
        (!raw.is_null()).then_some(Location(raw))
    }

    pub(super) fn raw(self) -> LLVMMetadataRef {
        self.0
    }

    /// File, line and column.
    pub(crate) fn place(self) -> Option<(String, u32, u32)> {
        let scope = llvm!(LLVMDILocationGetScope, self.0);
        let file = llvm!(LLVMDIScopeGetFile, scope);
        if file.is_null() {
            return None;
        }
        let mut length = 0;
        let name = llvm!(LLVMDIFileGetFilename, file, &raw mut length);
        let mut name = text(name, length as usize);
        if !name.starts_with('/') {
            let directory = llvm!(LLVMDIFileGetDirectory, file, &raw mut length);
            name = format!("{}/{name}", text(directory, length as usize));
        }
        let line = llvm!(LLVMDILocationGetLine, self.0);
        Some((name, line, llvm!(LLVMDILocationGetColumn, self.0)))
    }

    /// Where the call is that its function was inlined at, if it was.
    pub(crate) fn inlined_at(self) -> Option<Location> {
        Location::new(llvm!(LLVMDILocationGetInlinedAt, self.0))
    }
}
