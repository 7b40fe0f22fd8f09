//! The quick paths of the checks: Rust, compiled to bitcode, linked into the program and inlined.
//!
//! They come after the optimiser. Until then a check is a call that is known to touch nothing of the
//! program's memory; its body would be loads that may alias anything, twenty instructions at each access, and fewer
//! functions would be inlined.
use crate::llvm::{Linkage, Module, Value};
use crate::options::Options;

/// Links the bitcode file. What it defines of the ABI becomes part of this module and is always inlined, except for
/// [`abi::QUICK`] functions; without the file those functions are the runtime's.
pub(crate) fn run(module: Module, options: &Options) -> Result<(), String> {
    let Some(path) = &options.hot else {
        return Ok(());
    };
    let context = module.context();
    let always = context.attribute("alwaysinline", 0);
    let no_merge = context.attribute("nomerge", 0);
    let cold = context.attribute("cold", 0);
    for name in module.link_bitcode(path)? {
        let Some(function) = module.function(&name) else {
            continue;
        };
        function.set_linkage(Linkage::LLVMInternalLinkage);
        // The declaration spoke for the runtime's function.
        for attribute in ["noinline", "optnone", "memory", "nocallback", "nofree"] {
            if !name.starts_with(abi::QUICK) {
                function.remove_attribute(attribute);
            }
        }
        if name.starts_with(crate::PREFIX)
            && !name.starts_with(abi::QUICK)
            && let Some(attribute) = always
        {
            function.add_attribute(attribute);
        }
        for block in function.blocks() {
            for instruction in block.instructions() {
                let Some(callee) = instruction.callee().filter(|c| c.is_function()) else {
                    continue;
                };
                if callee.name() == abi::OWN {
                    instruction.replace_by(own_block(module));
                } else if callee.name().starts_with(crate::PREFIX)
                    && !callee.name().starts_with(abi::QUICK)
                {
                    // The way out to the runtime: rarely taken, a direct call, with the line of the access
                    // that it was inlined for.
                    cold.into_iter().for_each(|a| callee.add_attribute(a));
                    callee.remove_attribute("nonlazybind");
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

/// The thread's own block, as an address that the code generator can fold into each access.
fn own_block(module: Module) -> Value {
    module.global(abi::OWN_BLOCK).unwrap_or_else(|| {
        let block = module.add_global(abi::OWN_BLOCK, module.context().integer(64));
        block.set_thread_local_initial_exec();
        block
    })
}
