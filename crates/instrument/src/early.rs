//! The pass on the merged program before it is optimised: checks before accesses, brackets around
//! atomic operations, the module's note and constructor.
use crate::access::{Effect, Kind, effect};
use crate::checks::Checks;
use crate::llvm::{Linkage, Module, Opcode, Value};
use crate::options::Options;
use crate::skip::Rules;
use crate::stats::{Count, Stats};
use crate::{hot, note};

/// Runs the pass.
pub(crate) fn run(module: Module, options: &Options) -> Result<(), String> {
    let mut stats = Stats::default();
    let mut rules = Rules::new(module);
    let mut checks = Checks::new(module);
    let untouchable = module.ifunc_resolvers();
    let unwind_table = module.context().attribute("uwtable", UNWIND_ANYWHERE);
    for function in module.functions() {
        if function.is_declaration() {
            continue;
        }
        if leave_alone(function) || untouchable.contains(&function) {
            stats.add(Count::SkippedFunctions);
        } else {
            stats.add(Count::Functions);
            instrument(module, function, &mut rules, &mut checks, &mut stats);
        }
        // It kept the compilers from inventing accesses; the checks are in now, and the attribute
        // would only keep functions from being inlined.
        function.remove_attribute("sanitize_thread");
        if let Some(attribute) = unwind_table
            && !function.has_attribute("uwtable")
        {
            function.add_attribute(attribute);
        }
    }
    note::add(module, &mut checks, options.placement);
    if let Some(path) = &options.hot {
        hot::link(module, path)?;
    }
    if options.stats {
        eprint!("{stats}");
    }
    Ok(())
}

/// The value of `uwtable` for tables that are right at every instruction.
const UNWIND_ANYWHERE: u64 = 2;

/// The runtime's own functions, those without a frame, those that say so, and copies of functions
/// that another module provides.
fn leave_alone(function: Value) -> bool {
    function.has_attribute("naked")
        || function.has_attribute("disable_sanitizer_instrumentation")
        || function.linkage() == Linkage::LLVMAvailableExternallyLinkage
        || function.name().starts_with(crate::PREFIX)
}

fn instrument(
    module: Module,
    function: Value,
    rules: &mut Rules,
    checks: &mut Checks,
    stats: &mut Stats,
) {
    for block in function.blocks() {
        let effects: Vec<(Value, Effect)> = block
            .instructions()
            .into_iter()
            .map(|instruction| (instruction, effect(module, instruction)))
            .collect();
        let mut skipped = Vec::with_capacity(effects.len());
        for (_, effect) in &effects {
            let mut reasons = Vec::new();
            if let Effect::Plain(accesses) | Effect::Call(accesses) = effect {
                for access in accesses {
                    let reason = rules.memory(access);
                    reason.into_iter().for_each(|reason| stats.add(reason));
                    reasons.push(reason.is_some());
                }
            }
            skipped.push(reasons);
        }
        let covered = rules.covered(&effects, &skipped);
        for (index, (instruction, effect)) in effects.iter().enumerate() {
            match effect {
                Effect::Nothing => {}
                Effect::Plain(accesses) | Effect::Call(accesses) => {
                    for (number, access) in accesses.iter().enumerate() {
                        if skipped[index][number] {
                            continue;
                        }
                        if covered[index][number] {
                            stats.add(Count::SkippedCovered);
                        } else {
                            checks.plain(function, access, stats);
                        }
                    }
                }
                Effect::Atomic => {
                    let Some(pointer) = atomic_pointer(*instruction) else {
                        continue;
                    };
                    match rules.pointer(pointer, Kind::Write) {
                        Some(reason) => stats.add(reason),
                        None => checks.atomic(function, *instruction, pointer, stats),
                    }
                }
                Effect::Fence => checks.fence(function, *instruction, stats),
                Effect::Assembly => stats.add(Count::Assembly),
                Effect::Unknown => stats.add(Count::UnknownIntrinsic),
            }
        }
    }
}

fn atomic_pointer(operation: Value) -> Option<Value> {
    match operation.opcode()? {
        Opcode::LLVMStore => operation.operand(1),
        _ => operation.operand(0),
    }
}
