//! The IR: functions in SSA form over a control-flow graph, addresses as linear integer expressions.
//!
//! Both BFJ text and (later) LLVM functions are lowered to it. References are integers, so a field
//! `x.f` is the address `x + offset(f)`, an array element `a[i]` is `a + 8·i`, and a pointer that walks
//! through memory is an induction variable like any other.
//!
//! What a producer must keep to:
//! - SSA: each variable has one definition, which dominates its uses; phi operands are counted as
//!   uses at the end of the predecessor.
//! - Arithmetic given as [`Lin`] does not wrap in any execution that the verdict is about. Where it may
//!   wrap, use [`Instr::Opaque`].
//! - Block 0 is the entry and has no predecessor.
//! - A block with several predecessors has predecessors with one successor each:
//!   [`Function::split_critical_edges`] sees to it and says which blocks it made.

use crate::lin::Lin;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);
        impl $name {
            /// As an index.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// An SSA variable of a function.
    Var
}
id! {
    /// A basic block of a function.
    BlockId
}
id! {
    /// A function of a program.
    FuncId
}
id! {
    /// A list of addresses that a loop makes as it goes, to be checked together (see [`Gather`]).
    ListId
}
id! {
    /// An access of a function, the unit that reports name: checks carry the accesses they stand for.
    AccessId
}

/// What an access, or a check, does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A write check covers it; a read check is legitimate for it.
    Read,
    /// Only a write check covers it; both kinds of check are legitimate for it.
    Write,
}

/// How a path is written and coalesced; says nothing about aliasing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Shape {
    /// `x.f`: coalesced into `x.f/g/h`.
    Field,
    /// `a[i]`: coalesced into `a[lo..hi:k]`.
    Element,
}

/// How far a path reaches.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Extent {
    /// One location.
    One,
    /// The locations that start at `lo, lo + stride, … < hi`. `stride` is at least the location's size.
    Many {
        /// Exclusive bound of the start addresses.
        hi: Lin,
        /// Distance in bytes, positive; [`ONCE`] for a path of at most one location.
        stride: i64,
    },
}

/// A stride that no bound is beyond: the location at `lo` if `lo < hi`, and none otherwise. With the rounds of a loop
/// between the two it says "if there was a round".
pub const ONCE: i64 = 1 << 62;

/// A set of memory locations of `size` bytes each.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Path {
    /// First address.
    pub lo: Lin,
    /// One, or many.
    pub extent: Extent,
    /// Bytes per location, positive.
    pub size: u32,
    /// Field or element.
    pub shape: Shape,
}

impl Path {
    /// The single location at `lo`.
    pub fn one(lo: Lin, size: u32, shape: Shape) -> Path {
        Path {
            lo,
            extent: Extent::One,
            size,
            shape,
        }
    }

    /// Every variable that the path mentions.
    pub fn vars(&self) -> impl Iterator<Item = Var> {
        let hi = match &self.extent {
            Extent::One => None,
            Extent::Many { hi, .. } => Some(hi),
        };
        self.lo.vars().chain(hi.into_iter().flat_map(|h| h.vars()))
    }

    /// Both ends rewritten.
    pub fn map(&self, mut f: impl FnMut(&Lin) -> Option<Lin>) -> Option<Path> {
        Some(Path {
            lo: f(&self.lo)?,
            extent: match &self.extent {
                Extent::One => Extent::One,
                Extent::Many { hi, stride } => Extent::Many {
                    hi: f(hi)?,
                    stride: *stride,
                },
            },
            size: self.size,
            shape: self.shape,
        })
    }
}

/// A path of a `check`, with the accesses it stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// Read or write check.
    pub kind: Kind,
    /// What is checked: one coalesced group. Fields of one object are several paths, all `One`;
    /// an array range is a single path.
    pub paths: Vec<Path>,
    /// The accesses that this check stands for, sorted.
    pub sources: Vec<AccessId>,
}

/// A check that is put off: the address of its one location goes on a list, which is checked when it is full and
/// where its loop is left ([`Instr::Gathered`]). All entries of a list are from one such place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gather {
    /// The list.
    pub list: ListId,
    /// The check, of one path with one location.
    pub check: Check,
}

/// What calling something may do, as far as checks are concerned: the kill sets of the paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effects {
    /// May acquire: a check after it does not cover an access before it.
    pub acquires: bool,
    /// May release: a check after it is not legitimate for an access before it.
    pub releases: bool,
    /// May end in an exception that passes through the caller's frame.
    pub unwinds: bool,
    /// May neither return nor unwind: loops for ever, exits, is cancelled, long-jumps.
    pub leaves: bool,
    /// May write memory that this thread can see (alias facts die).
    pub writes: bool,
    /// May end the life of memory: no check of memory moves across it, in either direction.
    pub frees: bool,
}

impl Effects {
    /// What must be assumed of code that nobody has seen.
    pub const UNKNOWN: Effects = Effects {
        acquires: true,
        releases: true,
        unwinds: true,
        leaves: true,
        writes: true,
        frees: true,
    };

    /// Does nothing of all that.
    pub const NONE: Effects = Effects {
        acquires: false,
        releases: false,
        unwinds: false,
        leaves: false,
        writes: false,
        frees: false,
    };

    /// Either may happen.
    pub fn or(self, other: Effects) -> Effects {
        Effects {
            acquires: self.acquires | other.acquires,
            releases: self.releases | other.releases,
            unwinds: self.unwinds | other.unwinds,
            leaves: self.leaves | other.leaves,
            writes: self.writes | other.writes,
            frees: self.frees | other.frees,
        }
    }
}

/// A synchronisation operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sync {
    /// `acq(x)`.
    Acquire(Lin),
    /// `rel(x)`.
    Release(Lin),
    /// Read of a volatile field: acquires.
    VolatileRead {
        /// Receives the value.
        dst: Var,
        /// Address of the volatile.
        addr: Lin,
    },
    /// Write of a volatile field: releases.
    VolatileWrite {
        /// Address of the volatile.
        addr: Lin,
        /// The value.
        value: Lin,
    },
    /// Starts a thread: releases.
    Fork {
        /// Receives the thread's handle.
        dst: Var,
        /// What it runs.
        func: FuncId,
        /// With which arguments.
        args: Vec<Lin>,
    },
    /// Waits for a thread: acquires.
    Join(Lin),
    /// Anything else that synchronises (atomics, fences, libc), by its effects; `dst` if it yields a value.
    Other {
        /// What it does.
        effects: Effects,
        /// Receives a value.
        dst: Option<Var>,
    },
}

impl Sync {
    /// What the operation does.
    pub fn effects(&self) -> Effects {
        let acquire = Effects {
            acquires: true,
            ..Effects::NONE
        };
        let release = Effects {
            releases: true,
            ..Effects::NONE
        };
        match self {
            Sync::Acquire(_) | Sync::VolatileRead { .. } | Sync::Join(_) => acquire,
            Sync::Release(_) | Sync::VolatileWrite { .. } | Sync::Fork { .. } => release,
            Sync::Other { effects, .. } => *effects,
        }
    }

    /// The variable it defines.
    pub fn defines(&self) -> Option<Var> {
        match self {
            Sync::VolatileRead { dst, .. } | Sync::Fork { dst, .. } => Some(*dst),
            Sync::Other { dst, .. } => *dst,
            _ => None,
        }
    }
}

/// Who is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee {
    /// A function of the program, whose effects are computed.
    Known(FuncId),
    /// Somebody else, with these effects.
    External(Effects),
}

/// A call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Receives the result.
    pub dst: Option<Var>,
    /// Who.
    pub callee: Callee,
    /// With what.
    pub args: Vec<Lin>,
}

/// Operations that placement does not understand but the interpreter runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum OpaqueOp {
    Mul,
    Div,
    Rem,
    /// One of the operands. The interpreter refuses it.
    Choice,
    /// Nobody knows: LLVM values that are not linear. The interpreter refuses it.
    Unknown,
}

/// An instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Instr {
    /// `x = e` with a linear `e`.
    Let {
        /// Defined.
        dst: Var,
        /// Its value.
        value: Lin,
    },
    /// `x = op(args)`, not understood.
    Opaque {
        /// Defined.
        dst: Var,
        /// What is computed.
        op: OpaqueOp,
        /// Operands.
        args: Vec<Lin>,
    },
    /// `x = new …`, `bytes` long, zeroed.
    New {
        /// Receives the address.
        dst: Var,
        /// Size of the block.
        bytes: Lin,
    },
    /// A plain read or write.
    Access {
        /// Its name.
        id: AccessId,
        /// Read or write.
        kind: Kind,
        /// What is touched.
        path: Path,
        /// For a read of one location: receives the value.
        dst: Option<Var>,
        /// For a write of one location: the value, if it is linear in known variables.
        value: Option<Lin>,
    },
    /// Synchronisation.
    Sync(Sync),
    /// A call that has no handler here: if it unwinds, so does this function.
    Call(Call),
    /// Race checks.
    Check(Vec<Check>),
    /// Race checks in a loop that may never end: made every now and then, always allowed.
    Commit(Vec<Check>),
    /// A race check that is put off.
    Gather(Gather),
    /// The race checks that a list has come to stand for; it is empty afterwards.
    Gathered(ListId),
}

impl Instr {
    /// The variable it defines.
    pub fn defines(&self) -> Option<Var> {
        match self {
            Instr::Let { dst, .. } | Instr::Opaque { dst, .. } | Instr::New { dst, .. } => {
                Some(*dst)
            }
            Instr::Access { dst, .. } => *dst,
            Instr::Sync(s) => s.defines(),
            Instr::Call(c) => c.dst,
            Instr::Check(_) | Instr::Commit(_) | Instr::Gather(_) | Instr::Gathered(_) => None,
        }
    }
}

/// A branch condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cond {
    /// `e ≥ 0`.
    NonNegative(Lin),
    /// `e = 0`.
    Zero(Lin),
    /// `e ≠ 0`.
    NonZero(Lin),
}

impl Cond {
    /// The opposite.
    pub fn negated(&self) -> Option<Cond> {
        Some(match self {
            // ¬(e ≥ 0)  ⇔  -e - 1 ≥ 0
            Cond::NonNegative(e) => Cond::NonNegative(e.scaled(-1)?.offset(-1)?),
            Cond::Zero(e) => Cond::NonZero(e.clone()),
            Cond::NonZero(e) => Cond::Zero(e.clone()),
        })
    }

    /// The expression tested.
    pub fn lin(&self) -> &Lin {
        match self {
            Cond::NonNegative(e) | Cond::Zero(e) | Cond::NonZero(e) => e,
        }
    }

    /// Is it so?
    pub fn holds(&self, e: i64) -> bool {
        match self {
            Cond::NonNegative(_) => e >= 0,
            Cond::Zero(_) => e == 0,
            Cond::NonZero(_) => e != 0,
        }
    }
}

/// The end of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Terminator {
    /// On to the next.
    Goto(BlockId),
    /// Two ways.
    Branch {
        /// The test.
        cond: Cond,
        /// If it holds.
        then: BlockId,
        /// If not.
        otherwise: BlockId,
    },
    /// One of several, by a test that is not understood.
    Switch(Vec<BlockId>),
    /// A call whose exceptions are handled here.
    Invoke {
        /// The call; its result is defined on the way to `normal`.
        call: Call,
        /// After a return.
        normal: BlockId,
        /// After an exception.
        unwind: BlockId,
    },
    /// Returns.
    Return(Lin),
    /// Leaves with an exception.
    Unwind,
    /// Never reached, or the thread ends here.
    Stop,
}

impl Terminator {
    /// The blocks that may follow.
    pub fn successors(&self) -> Vec<BlockId> {
        match self {
            Terminator::Goto(b) => vec![*b],
            Terminator::Branch {
                then, otherwise, ..
            } => vec![*then, *otherwise],
            Terminator::Switch(bs) => bs.clone(),
            Terminator::Invoke { normal, unwind, .. } => vec![*normal, *unwind],
            Terminator::Return(_) | Terminator::Unwind | Terminator::Stop => Vec::new(),
        }
    }

    /// Puts `new` where `nth` successor was.
    fn redirect(&mut self, nth: usize, new: BlockId) {
        match (self, nth) {
            (Terminator::Goto(b), 0) => *b = new,
            (Terminator::Branch { then, .. }, 0) => *then = new,
            (Terminator::Branch { otherwise, .. }, 1) => *otherwise = new,
            (Terminator::Switch(bs), n) => {
                if let Some(b) = bs.get_mut(n) {
                    *b = new;
                }
            }
            (Terminator::Invoke { normal, .. }, 0) => *normal = new,
            (Terminator::Invoke { unwind, .. }, 1) => *unwind = new,
            _ => {}
        }
    }
}

/// `x = φ(…)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phi {
    /// Defined.
    pub dst: Var,
    /// The value for each predecessor.
    pub args: Vec<(BlockId, Lin)>,
}

impl Phi {
    /// The value that comes from `pred`.
    pub fn from(&self, pred: BlockId) -> Option<&Lin> {
        self.args.iter().find(|a| a.0 == pred).map(|a| &a.1)
    }
}

/// A basic block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Merged values.
    pub phis: Vec<Phi>,
    /// What is done.
    pub instrs: Vec<Instr>,
    /// What is next.
    pub term: Terminator,
    /// Made by [`Function::split_critical_edges`]: stands on the edge between these two.
    pub on_edge: Option<(BlockId, BlockId)>,
}

impl Block {
    /// Empty, ending in `term`.
    pub fn new(term: Terminator) -> Block {
        Block {
            phis: Vec::new(),
            instrs: Vec::new(),
            term,
            on_edge: None,
        }
    }
}

/// What is known of a variable apart from its definition.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VarInfo {
    /// For printing.
    pub name: String,
    /// Used as the base of a path; for printing only.
    pub is_ref: bool,
}

/// A function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Function {
    /// For printing.
    pub name: String,
    /// Parameters, defined on entry.
    pub params: Vec<Var>,
    /// All variables.
    pub vars: Vec<VarInfo>,
    /// All blocks; 0 is the entry.
    pub blocks: Vec<Block>,
    /// How many [`AccessId`]s are in use: all below this.
    pub accesses: u32,
}

/// Before instruction `index` of `block`; the number of instructions means before its terminator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Point {
    /// Where.
    pub block: BlockId,
    /// How far in.
    pub index: usize,
}

impl Function {
    /// A new variable.
    pub fn var(&mut self, name: impl Into<String>) -> Var {
        self.vars.push(VarInfo {
            name: name.into(),
            is_ref: false,
        });
        Var(u32::try_from(self.vars.len() - 1).unwrap_or(u32::MAX))
    }

    /// A new block.
    pub fn block(&mut self, term: Terminator) -> BlockId {
        self.blocks.push(Block::new(term));
        BlockId(u32::try_from(self.blocks.len() - 1).unwrap_or(u32::MAX))
    }

    /// A new access name.
    pub fn access(&mut self) -> AccessId {
        self.accesses += 1;
        AccessId(self.accesses - 1)
    }

    /// All block ids.
    pub fn block_ids(&self) -> impl Iterator<Item = BlockId> + use<> {
        (0..u32::try_from(self.blocks.len()).unwrap_or(u32::MAX)).map(BlockId)
    }

    /// Puts a block on every edge from a block with several successors to one with several
    /// predecessors, so that checks can be put on any edge. The new blocks say where they are.
    pub fn split_critical_edges(&mut self) {
        let mut incoming = vec![0usize; self.blocks.len()];
        for b in &self.blocks {
            for s in b.term.successors() {
                incoming[s.index()] += 1;
            }
        }
        for p in self.block_ids() {
            let successors = self.blocks[p.index()].term.successors();
            if successors.len() < 2 {
                continue;
            }
            for (nth, s) in successors.into_iter().enumerate() {
                if incoming[s.index()] < 2 {
                    continue;
                }
                let middle = self.block(Terminator::Goto(s));
                self.blocks[middle.index()].on_edge = Some((p, s));
                self.blocks[p.index()].term.redirect(nth, middle);
                for phi in &mut self.blocks[s.index()].phis {
                    if let Some(value) = phi.from(p).cloned() {
                        phi.args.push((middle, value));
                    }
                }
            }
        }
        // Phi operands of predecessors that are none any more.
        let mut preds = vec![Vec::new(); self.blocks.len()];
        for p in self.block_ids() {
            for s in self.blocks[p.index()].term.successors() {
                preds[s.index()].push(p);
            }
        }
        for (b, preds) in self.blocks.iter_mut().zip(&preds) {
            for phi in &mut b.phis {
                phi.args.retain(|a| preds.contains(&a.0));
            }
        }
    }
}

/// A whole program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// Its functions.
    pub funcs: Vec<Function>,
    /// Sizes of the blocks that exist before any thread starts; their addresses are the parameters of
    /// every initial thread.
    pub shared: Vec<i64>,
    /// What the initial threads run.
    pub threads: Vec<FuncId>,
    /// Field names, for printing: field `k` is at offset `8·k`.
    pub fields: Vec<String>,
}

impl Program {
    /// The function.
    pub fn func(&self, f: FuncId) -> &Function {
        &self.funcs[f.index()]
    }
}
