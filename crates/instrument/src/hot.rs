//! The quick paths of the checks: Rust, compiled to bitcode, linked into the program and inlined.
//!
//! They come after the optimiser. Until then a check is a call that is known to touch nothing of the
//! program's memory; its body would be loads that may alias anything, twenty instructions at each access, and fewer
//! functions would be inlined.
use crate::llvm::{Linkage, Module};
use crate::options::Options;

/// Links the bitcode file. What it defines of the ABI becomes part of this module and is always inlined;
/// without the file those functions are the runtime's.
pub(crate) fn run(module: Module, options: &Options) -> Result<(), String> {
    let Some(path) = &options.hot else {
        return Ok(());
    };
    let context = module.context();
    let always = context.attribute("alwaysinline", 0);
    let no_merge = context.attribute("nomerge", 0);
    for name in module.link_bitcode(path)? {
        let Some(function) = module.function(&name) else {
            continue;
        };
        function.set_linkage(Linkage::LLVMInternalLinkage);
        // The declaration spoke for the runtime's function.
        for attribute in ["noinline", "optnone", "memory", "nocallback", "nofree"] {
            function.remove_attribute(attribute);
        }
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
                if leaves {
                    no_merge
                        .into_iter()
                        .for_each(|a| instruction.add_call_attribute(a));
                    instruction.set_no_tail();
                }
            }
        }
    }
    Ok(())
}
