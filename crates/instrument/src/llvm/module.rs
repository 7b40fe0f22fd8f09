//! The module, its context, its globals.
use super::{Linkage, Type, Value, text};
use llvm_sys::core::*;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::{LLVMAttributeRef, LLVMContextRef, LLVMModuleRef};
use llvm_sys::target::{LLVMGetModuleDataLayout, LLVMTargetDataRef};
use std::ffi::{CStr, CString, c_char};

/// The module a pass works on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Module(LLVMModuleRef);

/// The module's context: types, constants and attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context(LLVMContextRef);

fn c_string(text: &str) -> CString {
    // A NUL can only come from a file name; what follows it is dropped.
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

fn list(first: Option<Value>, next: fn(Value) -> Option<Value>) -> Vec<Value> {
    std::iter::successors(first, |value| next(*value)).collect()
}

impl Module {
    /// # Safety
    /// `module` is a live module, for as long as the result or anything reached from it is used.
    pub(crate) unsafe fn new(module: LLVMModuleRef) -> Module {
        Module(module)
    }

    /// The file it came from.
    pub(crate) fn name(self) -> String {
        let mut length = 0;
        let start = llvm!(LLVMGetModuleIdentifier, self.0, &raw mut length);
        text(start, length)
    }

    pub(crate) fn context(self) -> Context {
        Context(llvm!(LLVMGetModuleContext, self.0))
    }

    pub(super) fn raw(self) -> LLVMModuleRef {
        self.0
    }

    pub(super) fn layout(self) -> LLVMTargetDataRef {
        llvm!(LLVMGetModuleDataLayout, self.0)
    }

    /// Adds assembly beside what is compiled.
    pub(crate) fn append_assembly(self, text: &str) {
        llvm!(
            LLVMAppendModuleInlineAsm,
            self.0,
            text.as_ptr().cast(),
            text.len()
        );
    }

    /// The assembly beside what is compiled.
    pub(crate) fn assembly(self) -> String {
        let mut length = 0;
        let start = llvm!(LLVMGetModuleInlineAsm, self.0, &raw mut length);
        text(start, length)
    }

    pub(crate) fn globals(self) -> Vec<Value> {
        list(Value::new(llvm!(LLVMGetFirstGlobal, self.0)), |value| {
            Value::new(llvm!(LLVMGetNextGlobal, value.0))
        })
    }

    /// Are there aliases or functions that the loader chooses?
    pub(crate) fn has_other_names(self) -> bool {
        !llvm!(LLVMGetFirstGlobalAlias, self.0).is_null()
            || !llvm!(LLVMGetFirstGlobalIFunc, self.0).is_null()
    }

    pub(crate) fn functions(self) -> Vec<Value> {
        list(Value::new(llvm!(LLVMGetFirstFunction, self.0)), |value| {
            Value::new(llvm!(LLVMGetNextFunction, value.0))
        })
    }

    /// The functions that choose the target of an `ifunc`.
    pub(crate) fn ifunc_resolvers(self) -> Vec<Value> {
        list(
            Value::new(llvm!(LLVMGetFirstGlobalIFunc, self.0)),
            |value| Value::new(llvm!(LLVMGetNextGlobalIFunc, value.0)),
        )
        .into_iter()
        .filter_map(|ifunc| Value::new(llvm!(LLVMGetGlobalIFuncResolver, ifunc.0)))
        .collect()
    }

    pub(crate) fn function(self, name: &str) -> Option<Value> {
        let name = c_string(name);
        Value::new(llvm!(LLVMGetNamedFunction, self.0, name.as_ptr()))
    }

    pub(crate) fn global(self, name: &str) -> Option<Value> {
        let name = c_string(name);
        Value::new(llvm!(LLVMGetNamedGlobal, self.0, name.as_ptr()))
    }

    /// A new function, or the one that has this name already.
    pub(crate) fn declare(self, name: &str, parameters: &[Type], result: Option<Type>) -> Value {
        if let Some(function) = self.function(name) {
            return function;
        }
        let kind = self.context().function_type(parameters, result);
        let name = c_string(name);
        Value(llvm!(LLVMAddFunction, self.0, name.as_ptr(), kind.0))
    }

    /// A new function of the type that `twin` has, or the one that has this name already.
    pub(crate) fn declare_like(self, name: &str, twin: Value) -> Value {
        if let Some(function) = self.function(name) {
            return function;
        }
        let kind = llvm!(LLVMGlobalGetValueType, twin.0);
        let name = c_string(name);
        Value(llvm!(LLVMAddFunction, self.0, name.as_ptr(), kind))
    }

    pub(crate) fn add_global(self, name: &str, kind: Type) -> Value {
        let name = c_string(name);
        Value(llvm!(LLVMAddGlobal, self.0, kind.0, name.as_ptr()))
    }

    /// The constant address of byte `offset` of a global.
    pub(crate) fn byte_address(self, global: Value, offset: u64) -> Value {
        let mut index = [self.context().integer(64).constant(offset).0];
        let byte = self.context().integer(8);
        Value(llvm!(
            LLVMConstGEP2,
            byte.0,
            global.0,
            index.as_mut_ptr(),
            1
        ))
    }

    /// Takes the definitions of a bitcode file into the module; returns the names of the functions
    /// that the file defines.
    pub(crate) fn link_bitcode(self, path: &str) -> Result<Vec<String>, String> {
        let file = c_string(path);
        let mut buffer = std::ptr::null_mut();
        let mut message: *mut c_char = std::ptr::null_mut();
        let failed = llvm!(
            LLVMCreateMemoryBufferWithContentsOfFile,
            file.as_ptr(),
            &raw mut buffer,
            &raw mut message,
        );
        if failed != 0 {
            let reason = take_message(message);
            return Err(format!("cannot read the hot checks in {path}: {reason}"));
        }
        let mut module = std::ptr::null_mut();
        let failed = llvm!(
            llvm_sys::bit_reader::LLVMParseBitcodeInContext2,
            self.context().0,
            buffer,
            &raw mut module,
        );
        llvm!(LLVMDisposeMemoryBuffer, buffer);
        if failed != 0 {
            return Err(format!(
                "{path} is no bitcode of LLVM 22: rebuild it with `cargo xtask dist`"
            ));
        }
        let names = Module(module)
            .functions()
            .into_iter()
            .filter(|function| !function.is_declaration())
            .map(Value::name)
            .collect();
        // rustc and clang spell the same target differently.
        let target = llvm!(LLVMGetTarget, self.0);
        llvm!(LLVMSetTarget, module, target);
        // The linker destroys the source module, whatever it answers.
        if llvm!(LLVMLinkModules2, self.0, module) != 0 {
            return Err(format!(
                "cannot link {path} into the program: it does not fit this module"
            ));
        }
        Ok(names)
    }

    /// Puts `function` first in the list of functions that run before `main`, and keeps the rest.
    pub(crate) fn add_first_constructor(self, function: Value) {
        let context = self.context();
        let (i32, ptr) = (context.integer(32), context.pointer());
        let mut entry = [i32.constant(0).0, function.0, llvm!(LLVMConstNull, ptr.0)];
        let ours = llvm!(
            LLVMConstStructInContext,
            context.0,
            entry.as_mut_ptr(),
            3,
            0
        );
        let mut entries = vec![ours];
        let old = self.global("llvm.global_ctors");
        if let Some(old) = old {
            let list = llvm!(LLVMGetInitializer, old.0);
            let count = Value::new(list).map_or(0, |list| list.kind().length());
            for index in 0..count {
                let index = u32::try_from(index).unwrap_or(u32::MAX);
                entries.push(llvm!(LLVMGetAggregateElement, list, index));
            }
        }
        let element = llvm!(LLVMTypeOf, ours);
        let length = entries.len() as u64;
        let array = llvm!(LLVMConstArray2, element, entries.as_mut_ptr(), length);
        let list = self.add_global("footrace.ctors", Type(llvm!(LLVMTypeOf, array)));
        list.set_linkage(Linkage::LLVMAppendingLinkage);
        list.set_initializer(Value(array));
        if let Some(old) = old {
            llvm!(LLVMDeleteGlobal, old.0);
        }
        let name = "llvm.global_ctors";
        llvm!(LLVMSetValueName2, list.0, name.as_ptr().cast(), name.len());
    }

    /// Keeps `global` through every stage of the link.
    pub(crate) fn keep(self, global: Value) {
        let name = "llvm.used";
        let mut entries = vec![];
        let old = self.global(name);
        if let Some(old) = old {
            let list = llvm!(LLVMGetInitializer, old.0);
            let count = Value::new(list).map_or(0, |list| list.kind().length());
            for index in 0..count {
                let index = u32::try_from(index).unwrap_or(u32::MAX);
                entries.push(llvm!(LLVMGetAggregateElement, list, index));
            }
            llvm!(LLVMDeleteGlobal, old.0);
        }
        entries.push(global.0);
        let pointer = self.context().pointer();
        let length = entries.len() as u64;
        let array = llvm!(LLVMConstArray2, pointer.0, entries.as_mut_ptr(), length);
        let list = self.add_global(name, Type(llvm!(LLVMTypeOf, array)));
        list.set_linkage(Linkage::LLVMAppendingLinkage);
        list.set_section("llvm.metadata");
        list.set_initializer(Value(array));
    }
}

fn take_message(message: *mut c_char) -> String {
    if message.is_null() {
        return "unknown error".to_owned();
    }
    // SAFETY: LLVM hands over a NUL-terminated string.
    let reason = unsafe { CStr::from_ptr(message) }
        .to_string_lossy()
        .into_owned();
    llvm!(LLVMDisposeMessage, message);
    reason
}

impl Context {
    pub(super) fn raw(self) -> LLVMContextRef {
        self.0
    }

    pub(crate) fn integer(self, bits: u32) -> Type {
        Type(llvm!(LLVMIntTypeInContext, self.0, bits))
    }

    pub(crate) fn pointer(self) -> Type {
        Type(llvm!(LLVMPointerTypeInContext, self.0, 0))
    }

    /// The type of a function; without a result it returns nothing.
    pub(crate) fn function_type(self, parameters: &[Type], result: Option<Type>) -> Type {
        let mut raw: Vec<_> = parameters.iter().map(|kind| kind.0).collect();
        let result = result.unwrap_or_else(|| Type(llvm!(LLVMVoidTypeInContext, self.0)));
        let count = u32::try_from(raw.len()).unwrap_or(0);
        Type(llvm!(
            LLVMFunctionType,
            result.0,
            raw.as_mut_ptr(),
            count,
            0
        ))
    }

    /// The bytes as a constant array.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Value {
        let start = bytes.as_ptr().cast();
        Value(llvm!(
            LLVMConstStringInContext2,
            self.0,
            start,
            bytes.len(),
            1
        ))
    }

    /// An attribute with LLVM's name for it, such as `nounwind`; `value` is 0 for those without one.
    pub(crate) fn attribute(self, name: &str, value: u64) -> Option<Attribute> {
        let kind = attribute_kind(name)?;
        Some(Attribute(llvm!(
            LLVMCreateEnumAttribute,
            self.0,
            kind,
            value
        )))
    }

    pub(crate) fn metadata_kind(self, name: &str) -> u32 {
        let length = u32::try_from(name.len()).unwrap_or(0);
        llvm!(
            LLVMGetMDKindIDInContext,
            self.0,
            name.as_ptr().cast(),
            length
        )
    }
}

/// The number LLVM has for an attribute's name.
pub(crate) fn attribute_kind(name: &str) -> Option<u32> {
    let kind = llvm!(
        LLVMGetEnumAttributeKindForName,
        name.as_ptr().cast(),
        name.len()
    );
    (kind != 0).then_some(kind)
}

/// An attribute of a function, call or parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attribute(pub(super) LLVMAttributeRef);

impl Type {
    /// The integer constant `value` of this integer type.
    pub(crate) fn constant(self, value: u64) -> Value {
        Value(llvm!(LLVMConstInt, self.0, value, 0))
    }
}

pub(super) fn name_of(value: Value) -> String {
    let mut length = 0;
    let start = llvm!(LLVMGetValueName2, value.0, &raw mut length);
    text(start, length)
}
