//! `--footrace-count`: the program counts its accesses and its checks, so that the check ratio of a placement can be
//! told: run-time checks per access, BigFoot's Table 1.
//!
//! # Contract
//!
//! An access counts if another thread could see it: the same accesses for every placement of the same program, so the ratios
//! compare. They are found before checks are placed. A check counts once, however much it covers. Each block adds what is in it
//! to thread-local counters, at its beginning; the counters are volatile, since it may be in a function that its callers know not to write.
use crate::access::Kind;
use crate::llvm::{Block, Builder, Module, Opcode, Type, Value};
use crate::skip::Rules;
use abi::counts::{COUNTERS, Counter, SYMBOL};

/// Accesses, by block.
#[derive(Debug)]
pub(crate) struct Counts {
    module: Module,
    builder: Builder,
    number: Type,
    accesses: Vec<(Block, [u64; COUNTERS])>,
}

impl Counts {
    pub(crate) fn new(module: Module) -> Counts {
        let context = module.context();
        Counts {
            module,
            builder: Builder::new(context),
            number: context.integer(64),
            accesses: Vec::new(),
        }
    }

    /// Counts the accesses of a function. Nothing is changed yet.
    pub(crate) fn accesses(&mut self, function: Value, rules: &mut Rules) {
        for block in function.blocks() {
            let mut counts = [0; COUNTERS];
            for access in rules.visible(block) {
                let counter = match access.kind {
                    Kind::Read => Counter::Reads,
                    Kind::Write => Counter::Writes,
                };
                counts[counter as usize] += 1;
            }
            self.accesses.push((block, counts));
        }
    }

    /// The checks are in: lets the functions count.
    pub(crate) fn insert(mut self, functions: impl Iterator<Item = Value>) {
        let variable = self.module.global(SYMBOL).unwrap_or_else(|| {
            let kind = self.module.context().bytes(&[0; COUNTERS * 8 - 1]).kind();
            let variable = self.module.add_global(SYMBOL, kind);
            variable.set_thread_local_initial_exec();
            variable
        });
        // Blocks may have been divided since; the first part is still the same block.
        let accesses: std::collections::HashMap<Block, [u64; COUNTERS]> =
            self.accesses.drain(..).collect();
        for function in functions {
            for block in function.blocks() {
                let mut counts = accesses.get(&block).copied().unwrap_or_default();
                for instruction in block.instructions() {
                    if let Some(check) = check_called(instruction) {
                        counts[check as usize] += 1;
                    }
                }
                self.add(function, block, variable, counts);
            }
        }
    }

    fn add(&mut self, function: Value, block: Block, variable: Value, counts: [u64; COUNTERS]) {
        let Some(first) = block.instructions().into_iter().find(|i| !begins_block(*i)) else {
            return;
        };
        for (at, count) in (0u64..).zip(counts).filter(|(_, count)| *count > 0) {
            let line = first
                .location()
                .or_else(|| function.start_location(self.module.context()));
            self.builder.before(first, line);
            let place = self.module.byte_address(variable, at * 8);
            let old = self.builder.load(self.number, place);
            old.set_volatile();
            let new = self.builder.add(old, self.number.constant(count));
            self.builder.store(new, place).set_volatile();
        }
    }
}

/// The counter for a call of a check.
pub(crate) fn check_called(instruction: Value) -> Option<Counter> {
    let callee = instruction.callee().filter(|c| c.is_function())?;
    Counter::of_check(&callee.name())
}

/// Instructions that have to come first in a block.
fn begins_block(instruction: Value) -> bool {
    instruction.is_alloca()
        || matches!(
            instruction.opcode(),
            Some(
                Opcode::LLVMPHI
                    | Opcode::LLVMLandingPad
                    | Opcode::LLVMCatchPad
                    | Opcode::LLVMCleanupPad
            )
        )
}
