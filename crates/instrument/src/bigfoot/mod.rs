//! Native BigFoot and RedCard: LLVM functions are lowered to placement's IR, analysed, and get the checks that
//! the analysis says.
//!
//! # Contract
//!
//! As with a check before each access: every access that another thread could see is covered by a check,
//! every check is legitimate for an access (`placement` has the definitions and the proof by testing). What
//! is added here is that the IR tells the truth about the function: addresses and tests ([`linear`]), who
//! synchronises, frees, unwinds or stays away ([`calls`]), and which accesses need no check at all (`skip`). A
//! function that cannot be told in the IR gets a check before each access, and is counted by the reason.
mod calls;
mod insert;
mod linear;
mod lower;

use crate::access::Effect;
use crate::checks::Checks;
use crate::llvm::{Linkage, Module, Value};
use crate::places;
use crate::policy::Policy;
use crate::skip::Rules;
use crate::stats::{Count, Stats};
use lower::{Lowered, lower};
use placement::ir::{self, Call, Callee, Effects, FuncId, Instr, Terminator};
use placement::{Mode, Options, place};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Functions that are instrumented, and how far each of them came.
#[derive(Debug)]
pub(crate) struct Program {
    module: Module,
    mode: Mode,
    lowered: HashMap<Value, Lowered>,
    effects: Vec<Effects>,
    spent: Duration,
}

impl Program {
    /// Lowers every function and computes the effects of all of them. Nothing is changed yet.
    pub(crate) fn new(
        module: Module,
        mode: Mode,
        functions: &[(Value, Policy)],
        rules: &mut Rules,
        stats: &mut Stats,
    ) -> Program {
        let begun = Instant::now();
        let known: HashMap<Value, FuncId> = (0u32..)
            .zip(functions)
            .filter(|(_, (function, _))| is_what_is_called(*function))
            .map(|(number, (function, _))| (*function, FuncId(number)))
            .collect();
        let mut program = ir::Program::default();
        let mut lowered = HashMap::new();
        for (function, policy) in functions {
            let plain = *policy == Policy::Full;
            let mut counted = Stats::default();
            match lower(module, *function, plain, &known, rules, &mut counted) {
                Ok(function) => {
                    stats.absorb(&counted);
                    program.funcs.push(function.ir.clone());
                    lowered.insert(function.function, function);
                }
                Err(reason) => {
                    stats.add(reason);
                    program.funcs.push(does_anything());
                }
            }
        }
        let effects = placement::effects(&program);
        Program {
            module,
            mode,
            lowered,
            effects,
            spent: begun.elapsed(),
        }
    }

    /// Inserts the checks of one function, and returns what else there is to instrument in it; `None` if
    /// all of it has to be done the plain way.
    pub(crate) fn insert(
        &mut self,
        function: Value,
        checks: &mut Checks,
        stats: &mut Stats,
    ) -> Option<Vec<(Value, Effect)>> {
        let lowered = self.lowered.remove(&function)?;
        let begun = Instant::now();
        let options = Options {
            mode: self.mode,
            ..Options::default()
        };
        let placement = place(&lowered.ir, &self.effects, options);
        self.spent += begun.elapsed();
        stats.add(Count::Analysed);
        if placement.counts.fallback > 0 {
            stats.add(Count::FallbackFlow);
        }
        stats.add_many(Count::PlacedAccesses, lowered.accesses.len() as u64);
        let inserted = insert::insert(self.module, &lowered, &placement, checks, stats);
        for (access, reason) in &lowered.dropped {
            checks.places().dropped(function, access, *reason);
        }
        let placed = places::Function {
            function,
            accesses: &lowered.accesses,
            fates: &placement.fates,
            checks: &inserted,
        };
        places::count(&placed, stats);
        checks.places().placed(&placed);
        Some(lowered.others)
    }

    /// Says how long it took.
    pub(crate) fn finish(&self, stats: &mut Stats) {
        let time = u64::try_from(self.spent.as_micros()).unwrap_or(u64::MAX);
        stats.add_many(Count::AnalysisTime, time);
    }
}

/// A call of the function runs this body, not one that another module brings.
fn is_what_is_called(function: Value) -> bool {
    !matches!(
        function.linkage(),
        Linkage::LLVMWeakAnyLinkage
            | Linkage::LLVMLinkOnceAnyLinkage
            | Linkage::LLVMExternalWeakLinkage
            | Linkage::LLVMCommonLinkage
    )
}

/// In place of a function that could not be lowered.
fn does_anything() -> ir::Function {
    let mut function = ir::Function::default();
    let entry = function.block(Terminator::Return(placement::Lin::from(0)));
    function.blocks[entry.index()]
        .instrs
        .push(Instr::Call(Call {
            dst: None,
            callee: Callee::External(Effects::UNKNOWN),
            args: Vec::new(),
        }));
    function
}
