//! `FOOTRACE_WITNESS=1`: besides its checks, the program tells of each access where it makes it. A recorded run
//! (`footrace run --record`) then has both: what was accessed and what was checked, on the very same schedule.
//!
//! # Contract
//!
//! The accesses are those that a check before each access (`-ffootrace=all`) would name. Each is a call as such a check would
//! be, between two calls that say what it is ([`Told`]); so is each check. What runs without being recorded takes them all for checks.
use crate::access::{Access, effect};
use crate::checks::Checks;
use crate::llvm::{Module, Value};
use crate::skip::Rules;
use abi::Told;
use abi::counts::Counter;

/// Accesses that will be told of, by function.
#[derive(Debug)]
pub(crate) struct Witness {
    module: Module,
    accesses: Vec<(Value, Access)>,
}

impl Witness {
    pub(crate) fn new(module: Module) -> Witness {
        Witness {
            module,
            accesses: Vec::new(),
        }
    }

    /// Finds the accesses of a function. Nothing is changed yet.
    pub(crate) fn accesses(&mut self, function: Value, rules: &mut Rules) {
        for block in function.blocks() {
            for instruction in block.instructions() {
                let effect = effect(self.module, instruction);
                for access in effect.plain().into_iter().flatten() {
                    if rules.memory(access).is_none() {
                        self.accesses.push((function, *access));
                    }
                }
            }
        }
    }

    /// The checks are in: says of them that they are, and inserts the accesses.
    pub(crate) fn insert(self, functions: impl Iterator<Item = Value>, checks: &mut Checks) {
        for function in functions {
            for block in function.blocks() {
                for instruction in block.instructions() {
                    let callee = instruction.callee().filter(|c| c.is_function());
                    if callee.is_some_and(|c| Counter::of_check(&c.name()).is_some()) {
                        checks.before(instruction, instruction, function);
                        checks.told(Told::Check);
                        if let Some(next) = instruction.next() {
                            checks.before(next, instruction, function);
                            checks.told(Told::Both);
                        }
                    }
                }
            }
        }
        for (function, access) in self.accesses {
            checks.before(access.instruction, access.instruction, function);
            checks.told(Told::Access);
            checks.access(function, &access);
            checks.before(access.instruction, access.instruction, function);
            checks.told(Told::Both);
        }
    }
}
