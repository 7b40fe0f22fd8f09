//! The pass on the merged program before it is optimised: checks before accesses, brackets around
//! atomic operations, the module's note and constructor.
use crate::access::{Effect, Kind, effect};
use crate::bigfoot::Program;
use crate::checks::Checks;
use crate::count::Counts;
use crate::llvm::{Module, Opcode, Value};
use crate::note;
use crate::options::{Options, Placement};
use crate::policy::{Policies, Policy};
use crate::skip::Rules;
use crate::stats::{Count, Stats};
use crate::witness::Witness;
use placement::Mode;

/// Calls of libc's memory functions that the compiler does not know as such (`-fno-builtin`, a pointer to the function) go
/// to functions that check. A program that defines the function itself is instrumented like any other.
fn redirect(module: Module) {
    for (libc, ours) in abi::CALLED {
        if let Some(function) = module.function(libc)
            && function.is_declaration()
        {
            let checked = module.declare_like(ours, function);
            function.replace_all_uses(checked);
        }
    }
}

/// Runs the pass.
pub(crate) fn run(module: Module, options: &Options) -> Result<(), String> {
    redirect(module);
    let mut stats = Stats::default();
    let mut rules = Rules::new(module);
    let mut checks = Checks::new(module);
    let policies = Policies::new(module);
    let unwind_table = module.context().attribute("uwtable", UNWIND_ANYWHERE);
    let mut functions = Vec::new();
    for function in module.functions() {
        if function.is_declaration() {
            continue;
        }
        let policy = policies.of(function);
        stats.add(match policy {
            Policy::Full => Count::Functions,
            Policy::Synchronisation => Count::SynchronisationOnly,
            Policy::Nothing => Count::SkippedFunctions,
        });
        functions.push((function, policy));
    }
    let wanted: Vec<(Value, Policy)> = functions
        .iter()
        .copied()
        .filter(|(_, policy)| *policy != Policy::Nothing)
        .collect();
    let mode = match options.placement {
        Placement::All => None,
        Placement::RedCard => Some(Mode::RedCard),
        Placement::BigFoot => Some(Mode::BigFoot),
    };
    let mut counts = options.count.then(|| Counts::new(module));
    let mut witness = options.witness.then(Witness::default);
    for (function, _) in wanted.iter().filter(|(_, policy)| *policy == Policy::Full) {
        if let Some(counts) = &mut counts {
            counts.accesses(*function, &mut rules);
        }
        if let Some(witness) = &mut witness {
            witness.accesses(*function, &mut rules);
        }
    }
    let mut program = mode.map(|mode| Program::new(module, mode, &wanted, &mut rules, &mut stats));
    for (function, policy) in wanted {
        let rest = match &mut program {
            Some(program) => program.insert(function, &mut checks, &mut stats)?,
            None => None,
        };
        match rest {
            Some(rest) => {
                for (instruction, effect) in rest {
                    let rules = &mut rules;
                    synchronise(
                        function,
                        instruction,
                        &effect,
                        rules,
                        &mut checks,
                        &mut stats,
                    );
                }
            }
            None => {
                let plain = policy == Policy::Full;
                instrument(module, function, plain, &mut rules, &mut checks, &mut stats);
            }
        }
    }
    if let Some(counts) = counts {
        counts.insert(functions.iter().map(|(function, _)| *function));
    }
    if let Some(witness) = witness {
        witness.insert(functions.iter().map(|(function, _)| *function), &mut checks);
    }
    for (function, policy) in functions {
        if policy == Policy::Synchronisation {
            policies.leave_as_compiled(module, function);
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
    checks.finish();
    checks.places().write(module);
    note::add(module, &mut checks, options.placement);
    stats.print(options)
}

/// The value of `uwtable` for tables that are right at every instruction.
const UNWIND_ANYWHERE: u64 = 2;

fn instrument(
    module: Module,
    function: Value,
    plain: bool,
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
        let reasons = if plain {
            reasons(&effects, rules)
        } else {
            vec![Vec::new(); effects.len()]
        };
        for ((instruction, effect), reasons) in effects.iter().zip(reasons) {
            let accesses = effect.plain().into_iter().flatten();
            for (access, reason) in accesses.zip(reasons) {
                match reason {
                    Some(reason) => {
                        stats.add(reason);
                        checks.places().dropped(function, access, reason);
                    }
                    None => checks.plain(function, access, stats),
                }
            }
            synchronise(function, *instruction, effect, rules, checks, stats);
        }
    }
}

/// For each plain access of a block's instructions, why it needs no check, if it needs none.
fn reasons(effects: &[(Value, Effect)], rules: &mut Rules) -> Vec<Vec<Option<Count>>> {
    let accesses = |effect: &Effect| effect.plain().cloned().unwrap_or_default();
    let mut reasons: Vec<Vec<Option<Count>>> = effects
        .iter()
        .map(|(_, effect)| accesses(effect).iter().map(|a| rules.memory(a)).collect())
        .collect();
    let skipped: Vec<Vec<bool>> = reasons
        .iter()
        .map(|reasons| reasons.iter().map(Option::is_some).collect())
        .collect();
    for (reasons, covered) in reasons.iter_mut().zip(rules.covered(effects, &skipped)) {
        for (reason, covered) in reasons.iter_mut().zip(covered) {
            if covered && reason.is_none() {
                *reason = Some(Count::SkippedCovered);
            }
        }
    }
    reasons
}

/// What an instruction needs besides the checks of its plain accesses.
fn synchronise(
    function: Value,
    instruction: Value,
    effect: &Effect,
    rules: &mut Rules,
    checks: &mut Checks,
    stats: &mut Stats,
) {
    match effect {
        Effect::Nothing | Effect::Plain(_) | Effect::Call(_) => {}
        Effect::Atomic => {
            let Some(pointer) = atomic_pointer(instruction) else {
                return;
            };
            match rules.pointer(pointer, Kind::Write) {
                Some(reason) => stats.add(reason),
                None => checks.atomic(function, instruction, pointer, stats),
            }
        }
        Effect::AtomicCall(call) => match rules.pointer(call.pointer, Kind::Write) {
            Some(reason) => stats.add(reason),
            None => checks.atomic_call(function, instruction, call, stats),
        },
        Effect::Fence => checks.fence(function, instruction, stats),
        Effect::Assembly => stats.add(Count::Assembly),
        Effect::Unknown => stats.add(Count::UnknownIntrinsic),
    }
}

fn atomic_pointer(operation: Value) -> Option<Value> {
    match operation.opcode()? {
        Opcode::LLVMStore => operation.operand(1),
        _ => operation.operand(0),
    }
}
