//! An LLVM function as one of placement's IR, and the way back from its points to instructions.
//!
//! Only what matters to checks is lowered: accesses that need one, calls, synchronisation, tests, and
//! the roots that addresses and tests speak of.
use super::calls;
use super::gather::index_behind;
use super::indirect::Indirect;
use super::linear::Values;
use crate::access::{Access, Effect, Extent, Kind, effect};
use crate::llvm::{Block, Module, Opcode, Value};
use crate::skip::Rules;
use crate::stats::{Count, Stats};
use placement::ir::{
    AccessId, BlockId, Call, Callee, Effects, FuncId, Function, Instr, Path, Phi, Shape, Sync,
    Terminator,
};
use placement::{Lin, ir};
use std::collections::HashMap;

/// A function, lowered.
#[derive(Debug)]
pub(super) struct Lowered {
    pub(super) function: Value,
    pub(super) ir: Function,
    /// For each block of LLVM's and each instruction of its lowered form: where it came from.
    pub(super) origins: Vec<Vec<Value>>,
    /// The terminator of each block of LLVM's.
    pub(super) terminators: Vec<Value>,
    pub(super) blocks: Vec<Block>,
    /// By [`AccessId`].
    pub(super) accesses: Vec<Access>,
    /// Accesses beyond the IR's words: checked where they are.
    pub(super) immediate: Vec<Access>,
    /// Accesses that need no check.
    pub(super) dropped: Vec<(Access, Count)>,
    /// By variable.
    pub(super) roots: Vec<Value>,
    /// Atomic operations, fences and the like, in order.
    pub(super) others: Vec<(Value, Effect)>,
}

/// The callees whose effects are computed.
#[derive(Debug)]
pub(super) struct Callees {
    pub(super) known: HashMap<Value, FuncId>,
    pub(super) indirect: Indirect,
}

/// Blocks beyond which a function is not analysed.
const MAX_BLOCKS: usize = 4000;

/// Accesses beyond which a function is not analysed.
const MAX_ACCESSES: usize = 4000;

/// Lowers a function, or says why not.
pub(super) fn lower(
    module: Module,
    function: Value,
    plain: bool,
    callees: &Callees,
    rules: &mut Rules,
    stats: &mut Stats,
) -> Result<Lowered, Count> {
    let blocks = function.blocks();
    if blocks.len() > MAX_BLOCKS {
        return Err(Count::FallbackSize);
    }
    let mut this = Lowering {
        module,
        callees,
        numbers: (0u32..)
            .zip(&blocks)
            .map(|(number, block)| (*block, BlockId(number)))
            .collect(),
        values: Values::new(module),
        accesses: Vec::new(),
        immediate: Vec::new(),
        dropped: Vec::new(),
        others: Vec::new(),
        choices: HashMap::new(),
        asked: 0,
    };
    let mut steps: Vec<Vec<(Value, Step)>> = Vec::with_capacity(blocks.len());
    let mut ends = Vec::with_capacity(blocks.len());
    let mut terminators = Vec::with_capacity(blocks.len());
    for block in &blocks {
        let mut here = Vec::new();
        for instruction in block.instructions() {
            this.instruction(instruction, plain, rules, stats, &mut here)?;
        }
        if this.accesses.len() > MAX_ACCESSES {
            return Err(Count::FallbackSize);
        }
        steps.push(here);
        let terminator = block.terminator().ok_or(Count::FallbackTerminator)?;
        terminators.push(terminator);
        ends.push(this.end(terminator)?);
    }
    let phis = this.merges();
    for root in this.values.roots().to_vec() {
        index_behind(root).and_then(|load| this.values.of(load));
    }
    let roots = this.values.roots().to_vec();
    let mut lowered = Lowered {
        function,
        ir: Function {
            name: function.name(),
            ..Function::default()
        },
        origins: Vec::with_capacity(blocks.len()),
        terminators,
        blocks,
        accesses: Vec::new(),
        immediate: Vec::new(),
        dropped: Vec::new(),
        roots,
        others: Vec::new(),
    };
    for _ in &lowered.roots {
        lowered.ir.var("");
    }
    // Arguments, globals and other constants are there from the start.
    lowered.ir.params = (0u32..)
        .zip(&lowered.roots)
        .filter(|(_, root)| !root.is_instruction())
        .map(|(number, _)| ir::Var(number))
        .collect();
    for ((block, steps), end) in lowered.blocks.clone().into_iter().zip(steps).zip(ends) {
        this.block(&mut lowered, block, &steps, end);
    }
    for (phi, args) in phis {
        if let (Some(dst), Some(at)) = (this.values.var(phi), this.numbers.get(&phi.parent())) {
            lowered.ir.blocks[at.index()].phis.push(Phi { dst, args });
        }
    }
    lowered.ir.accesses = u32::try_from(this.accesses.len()).unwrap_or(u32::MAX);
    lowered.accesses = this.accesses;
    lowered.immediate = this.immediate;
    lowered.dropped = this.dropped;
    lowered.others = this.others;
    lowered.ir.split_critical_edges();
    Ok(lowered)
}

/// An instruction that matters, before its roots have their places.
enum Step {
    Access(AccessId, ir::Kind, Path),
    Call(Callee),
    Sync(Effects),
}

/// A terminator, before its roots have their places.
enum End {
    Plain(Terminator),
    Invoke {
        callee: Callee,
        normal: BlockId,
        unwind: BlockId,
    },
}

struct Lowering<'a> {
    module: Module,
    callees: &'a Callees,
    numbers: HashMap<Block, BlockId>,
    values: Values,
    accesses: Vec<Access>,
    immediate: Vec<Access>,
    dropped: Vec<(Access, Count)>,
    others: Vec<(Value, Effect)>,
    /// Choices that are roots, and what they choose from.
    choices: HashMap<Value, [Lin; 2]>,
    /// Roots that were asked whether they are one.
    asked: usize,
}

impl Lowering<'_> {
    fn instruction(
        &mut self,
        instruction: Value,
        plain: bool,
        rules: &mut Rules,
        stats: &mut Stats,
        steps: &mut Vec<(Value, Step)>,
    ) -> Result<(), Count> {
        if instruction.is_call() && instruction.call_has("returns_twice") {
            return Err(Count::FallbackReturnsTwice);
        }
        let effect = effect(self.module, instruction);
        if plain {
            for access in effect.plain().into_iter().flatten() {
                if let Some(reason) = rules.memory(access) {
                    stats.add(reason);
                    self.dropped.push((*access, reason));
                    continue;
                }
                match self.path(access) {
                    Some(path) => {
                        let number = u32::try_from(self.accesses.len()).unwrap_or(u32::MAX);
                        self.accesses.push(*access);
                        let kind = match access.kind {
                            Kind::Read => ir::Kind::Read,
                            Kind::Write => ir::Kind::Write,
                        };
                        steps.push((instruction, Step::Access(AccessId(number), kind, path)));
                    }
                    None => self.immediate.push(*access),
                }
            }
        }
        let step = match &effect {
            // A trap.
            Effect::Nothing if instruction.is_call() && instruction.call_has("noreturn") => {
                Step::Call(Callee::External(Effects::UNKNOWN))
            }
            Effect::Nothing | Effect::Plain(_) => return Ok(()),
            Effect::Call(_) => Step::Call(self.callee(instruction)),
            Effect::Atomic | Effect::Fence => Step::Sync(calls::atomic(instruction)),
            Effect::AtomicCall(_) => Step::Sync(Effects {
                acquires: true,
                releases: true,
                ..Effects::NONE
            }),
            Effect::Assembly | Effect::Unknown => {
                Step::Call(Callee::External(calls::external(instruction)))
            }
        };
        if self.callees.indirect.reached(instruction).is_some() {
            stats.add(Count::Indirect);
        }
        self.others.push((instruction, effect));
        if instruction.opcode() != Some(Opcode::LLVMInvoke) {
            steps.push((instruction, step));
        }
        Ok(())
    }

    fn callee(&self, call: Value) -> Callee {
        // Nothing may come between such a call and the return.
        if call.is_must_tail() {
            return Callee::External(Effects::UNKNOWN);
        }
        let known = call
            .callee()
            .and_then(|callee| self.callees.known.get(&callee));
        if let Some(function) = known {
            return Callee::Known(*function);
        }
        match self.callees.indirect.reached(call) {
            Some(set) => Callee::Known(set),
            None => Callee::External(calls::external(call)),
        }
    }

    /// The locations of an access, if the IR has words for them.
    fn path(&mut self, access: &Access) -> Option<Path> {
        let pointer = self.values.of(access.pointer)?.lin;
        match access.extent {
            Extent::Bytes { offset, size, .. } => {
                let lo = pointer.offset(i64::try_from(offset).ok()?)?;
                let size = u32::try_from(size).ok().filter(|size| *size > 0)?;
                Some(Path::one(lo, size, Shape::Element))
            }
            Extent::Length(length) => {
                if length.kind().integer_bits() != 64 {
                    return None;
                }
                let hi = pointer.plus(&self.values.of(length)?.lin)?;
                Some(Path {
                    lo: pointer,
                    extent: ir::Extent::Many { hi, stride: 1 },
                    size: 1,
                    shape: Shape::Element,
                })
            }
            _ => None,
        }
    }

    fn number(&self, block: Block) -> Result<BlockId, Count> {
        let number = self.numbers.get(&block).copied();
        number.ok_or(Count::FallbackTerminator)
    }

    fn end(&mut self, terminator: Value) -> Result<End, Count> {
        let mut next = Vec::new();
        for successor in terminator.successors() {
            let successor = self.number(successor)?;
            if !next.contains(&successor) {
                next.push(successor);
            }
        }
        let plain = match terminator.opcode() {
            Some(Opcode::LLVMRet) => Terminator::Return(Lin::from(0)),
            Some(Opcode::LLVMResume) => Terminator::Unwind,
            Some(Opcode::LLVMUnreachable) => Terminator::Stop,
            Some(Opcode::LLVMInvoke) => {
                return Ok(End::Invoke {
                    callee: self.callee(terminator),
                    normal: self.number(terminator.normal_destination())?,
                    unwind: self.number(terminator.unwind_destination())?,
                });
            }
            Some(Opcode::LLVMBr | Opcode::LLVMSwitch) => match next[..] {
                [only] => Terminator::Goto(only),
                [then, otherwise] => {
                    let test = terminator.condition();
                    match test.and_then(|test| self.values.test(test)) {
                        Some(cond) => Terminator::Branch {
                            cond,
                            then,
                            otherwise,
                        },
                        None => Terminator::Switch(next),
                    }
                }
                _ => Terminator::Switch(next),
            },
            _ => return Err(Count::FallbackTerminator),
        };
        Ok(End::Plain(plain))
    }

    /// Every merge that is a root, with its operands; those may make more merges roots, and so may those of choices.
    fn merges(&mut self) -> Vec<(Value, Vec<(BlockId, Lin)>)> {
        let mut out = Vec::new();
        loop {
            self.find_choices();
            let new = self.values.take_merges();
            if new.is_empty() {
                return out;
            }
            for phi in new {
                let mut args: Vec<(BlockId, Lin)> = Vec::new();
                for (block, value) in phi.incoming() {
                    let lin = self.values.merged(phi, value);
                    if let Some(from) = self.numbers.get(&block)
                        && !args.iter().any(|(known, _)| known == from)
                    {
                        args.push((*from, lin));
                    }
                }
                out.push((phi, args));
            }
        }
    }

    /// The operands of choices that are roots.
    fn find_choices(&mut self) {
        while self.asked < self.values.roots().len() {
            let root = self.values.roots()[self.asked];
            self.asked += 1;
            if root.opcode() == Some(Opcode::LLVMSelect)
                && let Some((yes, no)) = root.operand(1).zip(root.operand(2))
                && let Some(yes) = self.values.chosen(yes)
                && let Some(no) = self.values.chosen(no)
            {
                self.choices.insert(root, [yes, no]);
            }
        }
    }

    /// What is to be known of a root that is neither an access nor a call.
    fn opaque(&self, dst: ir::Var, root: Value) -> Instr {
        if let Some(ways) = self.choices.get(&root) {
            return Instr::Opaque {
                dst,
                op: ir::OpaqueOp::Choice,
                args: ways.to_vec(),
            };
        }
        let index = index_behind(root).and_then(|load| self.values.var(load));
        Instr::Opaque {
            dst,
            op: ir::OpaqueOp::Unknown,
            args: index.map(Lin::from).into_iter().collect(),
        }
    }

    /// Puts a block together: its steps, and its roots among them.
    fn block(&self, out: &mut Lowered, block: Block, steps: &[(Value, Step)], end: End) {
        let mut instrs = Vec::new();
        let mut origins = Vec::new();
        let mut steps = steps.iter().peekable();
        for instruction in block.instructions() {
            // Merges stand apart, and an invoke's result comes into being on an edge.
            let mut dst = self.values.var(instruction).filter(|_| {
                !matches!(
                    instruction.opcode(),
                    Some(Opcode::LLVMPHI | Opcode::LLVMInvoke)
                )
            });
            while let Some((_, step)) = steps.next_if(|(from, _)| *from == instruction) {
                // The last step of an instruction defines its value; only calls have several.
                let last = steps.peek().is_none_or(|(from, _)| *from != instruction);
                let dst = if last { dst.take() } else { None };
                instrs.push(match step {
                    Step::Access(id, kind, path) => Instr::Access {
                        id: *id,
                        kind: *kind,
                        path: path.clone(),
                        dst,
                        value: None,
                    },
                    Step::Call(callee) => Instr::Call(Call {
                        dst,
                        callee: *callee,
                        args: Vec::new(),
                    }),
                    Step::Sync(effects) => Instr::Sync(Sync::Other {
                        effects: *effects,
                        dst,
                    }),
                });
                origins.push(instruction);
            }
            if let Some(dst) = dst {
                instrs.push(self.opaque(dst, instruction));
                origins.push(instruction);
            }
        }
        let term = match end {
            End::Plain(term) => term,
            End::Invoke {
                callee,
                normal,
                unwind,
            } => Terminator::Invoke {
                call: Call {
                    dst: block.terminator().and_then(|end| self.values.var(end)),
                    callee,
                    args: Vec::new(),
                },
                normal,
                unwind,
            },
        };
        out.ir.blocks.push(ir::Block {
            phis: Vec::new(),
            instrs,
            term,
            on_edge: None,
        });
        out.origins.push(origins);
    }
}
