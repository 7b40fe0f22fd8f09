//! The quick paths of the checks: Rust, compiled to bitcode, linked into the program and inlined.
//!
//! They come after the optimiser. Until then a check is a call that is known to touch nothing of the
//! program's memory; its body would be loads that may alias anything, twenty instructions at each access, and fewer
//! functions would be inlined.
//!
//! Each is more than a hundred bytes, which is worth it where it is run again and again: in small innermost loops, which the C++ part
//! marks, and in programs that are small as a whole. Elsewhere the check is a call of the runtime's twin that begins with the same test
//! (`_outlined`): in a large program the instruction cache decides, and most of the link's time would be spent on this code.
//! On the way to a panic or an exit the test is left out as well.
use crate::llvm::{Block, Linkage, Module, Opcode, Value};
use crate::options::Options;
use std::collections::HashSet;

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
    let linked = module.link_bitcode(path)?;
    choose(module, &linked);
    for name in linked {
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
                    if abi::keeps_registers(&callee.name()) {
                        callee.set_preserve_most();
                        instruction.set_call_preserve_most();
                    }
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

/// A program with so many checks is not small.
const MANY: usize = 4000;

/// Sends the checks that are not to be inlined to their twins.
fn choose(module: Module, quick: &[String]) {
    let mut checks = Vec::new();
    for function in module.functions() {
        if function.is_declaration() || quick.contains(&function.name()) {
            continue;
        }
        let cold = cold_blocks(function);
        for block in function.blocks() {
            for call in block.instructions() {
                let check = call.callee().filter(|callee| callee.is_function());
                if let Some(check) = check
                    && check.name().starts_with(crate::PREFIX)
                    && quick.contains(&check.name())
                {
                    checks.push((call, check, cold.contains(&block)));
                }
            }
        }
    }
    let small = checks.len() <= MANY;
    for (call, check, cold) in checks {
        let twin = |ending| {
            let name = format!("{}{ending}", check.name());
            abi::keeps_registers(&name).then(|| module.declare_like(&name, check))
        };
        // `_slow` is right whatever the quick path would say.
        let twin = if cold {
            twin(abi::SLOW)
        } else if small || call.has_call_mark(INLINE) {
            None
        } else {
            twin(abi::OUTLINED)
        };
        if let Some(twin) = twin {
            twin.set_preserve_most();
            call.set_callee(twin);
            call.set_call_preserve_most();
        }
    }
}

/// The attribute with which the C++ part marks the checks of small loops.
const INLINE: &str = "footrace-inline";

/// Blocks from which every way leads to an end that is no return, and those where an exception arrives.
fn cold_blocks(function: Value) -> HashSet<Block> {
    let blocks = function.blocks();
    if function.has_attribute("cold") {
        return blocks.into_iter().collect();
    }
    let mut cold: HashSet<Block> = HashSet::new();
    loop {
        let before = cold.len();
        // Successors mostly come later.
        for block in blocks.iter().rev() {
            let Some(end) = block.terminator() else {
                continue;
            };
            let arrives = block
                .instructions()
                .iter()
                .any(|i| i.opcode() == Some(Opcode::LLVMLandingPad));
            let successors = end.successors();
            let ends = match end.opcode() {
                Some(Opcode::LLVMUnreachable | Opcode::LLVMResume) => true,
                Some(Opcode::LLVMRet) => false,
                _ => !successors.is_empty() && successors.iter().all(|next| cold.contains(next)),
            };
            if arrives || ends {
                cold.insert(*block);
            }
        }
        if cold.len() == before {
            return cold;
        }
    }
}

/// The thread's own block, as an address that the code generator can fold into each access.
fn own_block(module: Module) -> Value {
    module.global(abi::OWN_BLOCK).unwrap_or_else(|| {
        let block = module.add_global(abi::OWN_BLOCK, module.context().integer(64));
        block.set_thread_local_initial_exec();
        block
    })
}
