//! `FOOTRACE_WITNESS=1`: besides its checks, the program tells of each access where it makes it. A recorded run
//! (`footrace run --record`) then has both: what was accessed and what was checked, on the very same schedule.
//!
//! # Contract
//!
//! The accesses are those that a check before each access (`-ffootrace=all`) would name. Each is a call as such a check would
//! be, between two calls that say what it is ([`Told`]); so is each check. What runs without being recorded takes them all for checks.
use crate::access::Access;
use crate::checks::Checks;
use crate::count::check_called;
use crate::llvm::Value;
use crate::skip::Rules;
use abi::Told;

/// Accesses that will be told of, by function.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    accesses: Vec<(Value, Access)>,
}

impl Witness {
    /// Finds the accesses of a function. Nothing is changed yet.
    pub(crate) fn accesses(&mut self, function: Value, rules: &mut Rules) {
        for block in function.blocks() {
            let visible = rules.visible(block).into_iter();
            self.accesses
                .extend(visible.map(|access| (function, access)));
        }
    }

    /// The checks are in: says of them that they are, and inserts the accesses.
    pub(crate) fn insert(self, functions: impl Iterator<Item = Value>, checks: &mut Checks) {
        for function in functions {
            for block in function.blocks() {
                for instruction in block.instructions() {
                    if check_called(instruction).is_some() {
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
