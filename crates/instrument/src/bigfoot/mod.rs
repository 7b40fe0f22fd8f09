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
mod gather;
mod indirect;
mod insert;
mod linear;
mod lower;

use crate::access::Effect;
use crate::checks::Checks;
use crate::escape::is_what_is_called;
use crate::llvm::{Module, Value};
use crate::places;
use crate::policy::Policy;
use crate::skip::Rules;
use crate::stats::{Count, Stats};
pub(crate) use calls::is_mathematics;
use indirect::Indirect;
use lower::{Callees, Lowered, lower};
use placement::ir::{self, Call, Callee, Effects, FuncId, Instr, Terminator};
use placement::{Mode, Options, Placement, place};
use std::collections::HashMap;

/// Functions that are instrumented, and how far each of them came.
#[derive(Debug)]
pub(crate) struct Program {
    module: Module,
    placed: HashMap<Value, (Lowered, Placement)>,
}

impl Program {
    /// Lowers and analyses every function. Nothing is changed yet.
    pub(crate) fn new(
        module: Module,
        mode: Mode,
        functions: &[(Value, Policy)],
        rules: &mut Rules,
        stats: &mut Stats,
    ) -> Program {
        let begun = processor_time();
        let known: HashMap<Value, FuncId> = (0u32..)
            .zip(functions)
            .filter(|(_, (function, _))| is_what_is_called(*function))
            .map(|(number, (function, _))| (*function, FuncId(number)))
            .collect();
        let callees = Callees {
            indirect: Indirect::new(module, functions.len(), &known),
            known,
        };
        let mut program = ir::Program::default();
        let mut lowered = Vec::new();
        for (function, policy) in functions {
            let plain = *policy == Policy::Full;
            let mut counted = Stats::default();
            match lower(module, *function, plain, &callees, rules, &mut counted) {
                Ok(function) => {
                    stats.absorb(&counted);
                    program.funcs.push(function.ir.clone());
                    lowered.push(function);
                }
                Err(reason) => {
                    stats.add(reason);
                    program.funcs.push(does_anything());
                }
            }
        }
        program.funcs.extend(callees.indirect.into_bodies());
        let effects = placement::effects(&program);
        let options = Options {
            mode,
            copies_stay: true,
            elements_with_ranges: true,
            choices: true,
            ..Options::default()
        };
        let placed = lowered
            .into_iter()
            .map(|function| {
                let options = Options {
                    gathers: gather::is_allowed(&function),
                    ..options
                };
                let placement = place(&function.ir, &effects, options);
                (function.function, (function, placement))
            })
            .collect();
        let time = processor_time().saturating_sub(begun);
        stats.add_many(Count::AnalysisTime, time / 1000);
        Program { module, placed }
    }

    /// Inserts the checks of one function, and returns what else there is to instrument in it; `None` if
    /// all of it has to be done the plain way.
    pub(crate) fn insert(
        &mut self,
        function: Value,
        checks: &mut Checks,
        stats: &mut Stats,
    ) -> Result<Option<Vec<(Value, Effect)>>, String> {
        let Some((lowered, placement)) = self.placed.remove(&function) else {
            return Ok(None);
        };
        stats.add(Count::Analysed);
        if placement.counts.fallback > 0 {
            stats.add(Count::FallbackFlow);
        }
        stats.add_many(Count::Stayed, placement.counts.stayed);
        stats.add_many(Count::PlacedAccesses, lowered.accesses.len() as u64);
        let inserted = insert::insert(self.module, &lowered, &placement, checks, stats)?;
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
        Ok(Some(lowered.others))
    }
}

/// Nanoseconds that this thread has spent on a processor: what the analysis costs, however busy the machine is.
fn processor_time() -> u64 {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
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
