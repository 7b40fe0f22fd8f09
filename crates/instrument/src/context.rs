//! The calling context (Bond and McKinley, Probabilistic Calling Context, OOPSLA 2007): a hash in a
//! thread-local variable that stands for the stack of calls.
//!
//! # Contract
//!
//! When a function begins, and at each of its checks, the variable holds the same number, `v`, which depends on the chain of
//! call sites alone: with the address that a check returns to, it tells the stack. A function keeps `v` and stores
//! `(v ^ site) * M` before each call that leaves it. Afterwards it stores `v` again where a check may follow; a function that code without these stores may
//! call (its address is taken, or other modules see it) also where it may return. The pass runs after
//! inlining, so that a function that is gone costs nothing; one without such calls has none of this, however many checks it has.
use crate::bigfoot::is_mathematics;
use crate::llvm::{Block, Builder, Context, Module, Opcode, Type, Value};
use crate::options::Options;
use crate::stats::{Count, Stats};
use std::collections::HashSet;

/// Runs the pass.
pub(crate) fn run(module: Module, options: &Options) -> Result<(), String> {
    let mut stats = Stats::default();
    let mut pass = Pass::new(module);
    for function in module.functions() {
        let skip = function.is_declaration()
            || function.has_attribute("naked")
            || function.name().starts_with(crate::PREFIX)
            || function.name().starts_with("footrace.");
        if !skip {
            pass.function(function, &mut stats);
        }
    }
    stats.print(options)
}

struct Pass {
    context: Context,
    builder: Builder,
    number: Type,
    variable: Value,
}

impl Pass {
    fn new(module: Module) -> Pass {
        let context = module.context();
        let number = context.integer(64);
        let variable = module.global(abi::CONTEXT).unwrap_or_else(|| {
            let variable = module.add_global(abi::CONTEXT, number);
            variable.set_thread_local_initial_exec();
            variable
        });
        Pass {
            context,
            builder: Builder::new(context),
            number,
            variable,
        }
    }

    fn function(&mut self, function: Value, stats: &mut Stats) {
        let blocks = function.blocks();
        let calls: Vec<Value> = blocks
            .iter()
            .flat_map(|block| block.instructions())
            .filter(|instruction| leaves(*instruction))
            .collect();
        let first = blocks.first().and_then(|entry| first_after_allocas(*entry));
        let Some(first) = first.filter(|_| !calls.is_empty()) else {
            return;
        };
        let name = function.name();
        let line = function.start_location(self.context);
        let wanted = Wanted::new(&blocks, is_called_from_outside(function));
        self.builder.before(first, line);
        let found = self.builder.load(self.number, self.variable);
        for (call, ordinal) in calls.iter().zip(0u64..) {
            self.builder.before(*call, call.location().or(line));
            self.enter(found, site(&name, ordinal));
            stats.add(Count::CallSites);
        }
        let mut points: Vec<Value> = Vec::new();
        for block in &blocks {
            points.extend(wanted.in_block(*block));
        }
        for point in points {
            self.builder.before(point, point.location().or(line));
            self.builder.store(found, self.variable);
        }
    }

    fn enter(&self, found: Value, site: u64) {
        let mixed = self.builder.xor(found, self.number.constant(site));
        let factor = self.number.constant(abi::CONTEXT_MULTIPLIER);
        let hash = self.builder.multiply(mixed, factor);
        self.builder.store(hash, self.variable);
    }
}

fn first_after_allocas(entry: Block) -> Option<Value> {
    entry
        .instructions()
        .into_iter()
        .find(|instruction| !instruction.is_alloca())
}

/// Where the function's own number has to be in the variable again: liveness of it, backwards.
struct Wanted {
    /// At the end of the function.
    at_return: bool,
    /// Blocks at whose beginning it is wanted.
    blocks: HashSet<Block>,
}

impl Wanted {
    fn new(blocks: &[Block], at_return: bool) -> Wanted {
        let mut wanted = Wanted {
            at_return,
            blocks: HashSet::new(),
        };
        loop {
            let before = wanted.blocks.len();
            // Successors mostly come later.
            for block in blocks.iter().rev() {
                if wanted.from(block.instructions().first().copied()) {
                    wanted.blocks.insert(*block);
                }
            }
            if wanted.blocks.len() == before {
                return wanted;
            }
        }
    }

    /// Is it wanted before this instruction?
    fn from(&self, mut at: Option<Value>) -> bool {
        while let Some(instruction) = at {
            if leaves(instruction) {
                return false;
            }
            if checks(instruction)
                || self.at_return && instruction.opcode() == Some(Opcode::LLVMRet)
            {
                return true;
            }
            at = instruction.next();
            if at.is_none() {
                let next = instruction.successors();
                return next.iter().any(|next| self.blocks.contains(next));
            }
        }
        false
    }

    /// The instructions before which it has to be stored, as far as that is due to calls of this block.
    fn in_block(&self, block: Block) -> Vec<Value> {
        let mut points = Vec::new();
        for call in block.instructions().into_iter().filter(|i| leaves(*i)) {
            match call.next() {
                // A jump to its callee leaves nothing to do.
                Some(next) if !call.is_must_tail() && self.from(Some(next)) => points.push(next),
                Some(_) => {}
                // It ends the block: the places where it goes on.
                None => points.extend(
                    call.successors()
                        .into_iter()
                        .filter(|next| self.blocks.contains(next))
                        .filter_map(first_point),
                ),
            }
        }
        points
    }
}

/// Where something can be put at the beginning of a block.
fn first_point(block: Block) -> Option<Value> {
    block.instructions().into_iter().find(|instruction| {
        !matches!(
            instruction.opcode(),
            Some(Opcode::LLVMPHI | Opcode::LLVMLandingPad)
        )
    })
}

/// A call that leaves the function: no intrinsic, no inline assembly, no check. Nor one of the mathematical library, where nothing is checked.
fn leaves(instruction: Value) -> bool {
    let is_leaf = |callee: Value| {
        let name = callee.name();
        name.starts_with("llvm.")
            || name.starts_with(crate::PREFIX)
            || callee.is_declaration() && is_mathematics(&name)
    };
    instruction
        .callee()
        .is_some_and(|callee| !(callee.is_inline_asm() || callee.is_function() && is_leaf(callee)))
}

/// A call of the runtime, which asks for the variable.
fn checks(instruction: Value) -> bool {
    instruction
        .callee()
        .is_some_and(|callee| callee.is_function() && callee.name().starts_with(crate::PREFIX))
}

/// Other modules see it, or its address is used for something else than a call.
fn is_called_from_outside(function: Value) -> bool {
    !function.is_local()
        || function
            .users()
            .any(|user| user.callee() != Some(function) || user.arguments().contains(&function))
}

/// A call site as a number: 31 bits, which is what an immediate operand holds.
fn site(function: &str, ordinal: u64) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in function.bytes().chain(ordinal.to_le_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (hash ^ (hash >> 32)) & 0x7fff_ffff
}
