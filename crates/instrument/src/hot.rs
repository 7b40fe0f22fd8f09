//! The quick paths of the checks: Rust, compiled to bitcode, linked into the program and inlined.
use crate::llvm::{Linkage, Module};

/// Links the bitcode file. What it defines of the ABI becomes part of this module and is always inlined;
/// without the file those functions are the runtime's.
pub(crate) fn link(module: Module, path: &str) -> Result<(), String> {
    let context = module.context();
    let always = context.attribute("alwaysinline", 0);
    let no_merge = context.attribute("nomerge", 0);
    for name in module.link_bitcode(path)? {
        let Some(function) = module.function(&name) else {
            continue;
        };
        function.set_linkage(Linkage::LLVMInternalLinkage);
        function.remove_attribute("noinline");
        function.remove_attribute("optnone");
        if name.starts_with(crate::PREFIX)
            && let Some(attribute) = always
        {
            function.add_attribute(attribute);
        }
        // The way out to the runtime keeps the line of the access it was inlined for.
        for block in function.blocks() {
            for instruction in block.instructions() {
                let leaves = instruction
                    .callee()
                    .is_some_and(|callee| callee.name().starts_with(crate::PREFIX));
                if leaves && let Some(attribute) = no_merge {
                    instruction.add_call_attribute(attribute);
                }
            }
        }
    }
    Ok(())
}
