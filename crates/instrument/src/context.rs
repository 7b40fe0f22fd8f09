//! The calling context (Bond and McKinley, Probabilistic Calling Context, OOPSLA 2007): a hash in a
//! thread-local variable that stands for the stack of calls.
//!
//! # Contract
//!
//! At each call of a function that can call back or report, the variable holds a number that depends on the
//! chain of call sites alone. A function keeps the value it found in `v` and stores `(v ^ site) * M` before each call.
//! Nothing is put back afterwards, since every caller stores before it calls; only functions that code without these stores may
//! call (those whose address is taken or that other modules see) leave the variable as they found it. The pass runs after
//! inlining, so that a function that is gone costs nothing, and a leaf without calls has none of this.
//!
//! In a function that calls nothing but slow paths of checks, the update stands around those calls:
//! the quick path stays free of it.
use crate::llvm::{Block, Builder, Context, Module, Opcode, Type, Value};
use crate::options::Options;
use crate::stats::{Count, Stats};

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
            .filter(|instruction| is_real_call(*instruction))
            .collect();
        let Some(entry) = blocks.first().filter(|_| !calls.is_empty()) else {
            return;
        };
        let name = function.name();
        let line = function.start_location(self.context);
        if calls.iter().all(|call| is_slow_path(*call)) {
            for (call, ordinal) in calls.iter().zip(0u64..) {
                let Some(next) = call.next() else {
                    continue;
                };
                self.builder.before(*call, call.location().or(line));
                let found = self.builder.load(self.number, self.variable);
                self.enter(found, site(&name, ordinal));
                self.builder.before(next, call.location().or(line));
                self.builder.store(found, self.variable);
                stats.add(Count::CallSites);
            }
            return;
        }
        let Some(first) = first_after_allocas(*entry) else {
            return;
        };
        self.builder.before(first, line);
        let found = self.builder.load(self.number, self.variable);
        for (call, ordinal) in calls.iter().zip(0u64..) {
            self.builder.before(*call, call.location().or(line));
            self.enter(found, site(&name, ordinal));
            stats.add(Count::CallSites);
        }
        if !is_called_from_outside(function) {
            return;
        }
        for block in blocks {
            let Some(end) = block.terminator() else {
                continue;
            };
            let must_tail = block.instructions().into_iter().any(Value::is_must_tail);
            if end.opcode() == Some(Opcode::LLVMRet) && !must_tail {
                self.builder.before(end, end.location().or(line));
                self.builder.store(found, self.variable);
            }
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

/// A call that leaves the function: no intrinsic, no inline assembly, no quick test.
fn is_real_call(instruction: Value) -> bool {
    let is_leaf = |name: String| name.starts_with("llvm.") || name.starts_with(abi::QUICK);
    instruction.callee().is_some_and(|callee| {
        !(callee.is_inline_asm() || callee.is_function() && is_leaf(callee.name()))
    })
}

fn is_slow_path(call: Value) -> bool {
    call.callee().is_some_and(|callee| {
        callee.is_function()
            && callee.name().starts_with(crate::PREFIX)
            && callee.name().ends_with("_slow")
    })
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
