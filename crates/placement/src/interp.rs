//! Runs programs of the IR, one visible step at a time, under a schedule that the caller chooses.
//!
//! Visible steps are those whose order between threads can matter: accesses and synchronisation.
//! Everything else, checks included, runs along with the visible step before it: a check orders
//! nothing, and only its place among its own thread's steps counts.

use crate::ir::{
    AccessId, BlockId, Call, Callee, Check, Extent, FuncId, Gather, Instr, Kind, ListId, OpaqueOp,
    Path, Program, Sync, Terminator, Var,
};
use crate::lin::Lin;
use std::collections::BTreeMap;

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// A plain access.
    Access {
        /// Read or write.
        kind: Kind,
        /// First byte.
        addr: i64,
        /// Bytes.
        size: u32,
        /// Which access of which function.
        site: (FuncId, AccessId),
    },
    /// A check of one location.
    Check {
        /// Read or write.
        kind: Kind,
        /// First byte.
        addr: i64,
        /// Bytes.
        size: u32,
    },
    /// Lock taken.
    Acquire(i64),
    /// Lock given back.
    Release(i64),
    /// Volatile read.
    VolatileRead(i64),
    /// Volatile written.
    VolatileWrite(i64),
    /// Thread started.
    Fork(u32),
    /// Thread waited for.
    Join(u32),
    /// Memory made.
    Alloc {
        /// First byte.
        addr: i64,
        /// Bytes.
        bytes: i64,
    },
}

/// Who did what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The thread.
    pub thread: u32,
    /// The step.
    pub op: Op,
}

/// Why a thread stopped before its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// An access outside of every block.
    BadAddress,
    /// Arithmetic without a result.
    Arithmetic,
    /// Release of a lock that the thread does not hold, join of what is no thread.
    BadSync,
    /// Too large an allocation, or too deep a recursion.
    TooLarge,
    /// An instruction that cannot be run.
    Unknown,
}

#[derive(Clone, Debug)]
struct Frame {
    func: FuncId,
    block: BlockId,
    index: usize,
    vars: Vec<i64>,
    /// The checks that are put off, each of one location.
    lists: BTreeMap<ListId, Vec<Op>>,
    /// Where the caller wants the result.
    dst: Option<Var>,
    /// The caller's handler, if it was an `Invoke`: (normal, unwind).
    handler: Option<(BlockId, BlockId)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum State {
    Running,
    Done,
    Faulted(Fault),
}

#[derive(Clone, Debug)]
struct Thread {
    frames: Vec<Frame>,
    state: State,
}

const BASE: i64 = 0x1000;
const WORD: i64 = 8;
/// A list with so many entries is full.
const FULL: usize = 3;
const MAX_FRAMES: usize = 200;
const MAX_WORDS: usize = 1 << 20;
/// Invisible steps in a row before a thread is stopped: it computes for ever.
const MAX_SILENT: u32 = 100_000;

/// A program in the middle of a run.
#[derive(Clone, Debug)]
pub struct Machine<'p> {
    program: &'p Program,
    memory: Vec<i64>,
    /// Start to end of each block.
    blocks: BTreeMap<i64, i64>,
    threads: Vec<Thread>,
    /// Owner and depth.
    locks: BTreeMap<i64, (u32, u32)>,
    trace: Vec<Event>,
    commits: u64,
    commit_period: u64,
}

impl<'p> Machine<'p> {
    /// Ready to run; a `commit` is carried out once in `commit_period` times.
    pub fn new(program: &'p Program, commit_period: u64) -> Machine<'p> {
        let mut m = Machine {
            program,
            memory: Vec::new(),
            blocks: BTreeMap::new(),
            threads: Vec::new(),
            locks: BTreeMap::new(),
            trace: Vec::new(),
            commits: 0,
            commit_period: commit_period.max(1),
        };
        let shared: Vec<i64> = program
            .shared
            .iter()
            .map(|bytes| m.allocate(*bytes).unwrap_or(0))
            .collect();
        for &f in &program.threads {
            m.start(f, &shared);
        }
        for t in 0..m.threads.len() {
            m.run_silent(t);
        }
        m
    }

    /// The steps so far.
    pub fn trace(&self) -> &[Event] {
        &self.trace
    }

    /// The blocks of memory: start and end.
    pub fn blocks(&self) -> impl Iterator<Item = (i64, i64)> {
        self.blocks.iter().map(|(s, e)| (*s, *e))
    }

    /// The threads that can take a step.
    pub fn enabled(&self) -> Vec<u32> {
        (0..self.threads.len())
            .filter(|t| self.can_step(*t))
            .map(|t| u32::try_from(t).unwrap_or(u32::MAX))
            .collect()
    }

    /// Threads that stopped before their end, with the reason.
    pub fn faults(&self) -> Vec<(u32, Fault)> {
        (0u32..)
            .zip(&self.threads)
            .filter_map(|(t, th)| match th.state {
                State::Faulted(f) => Some((t, f)),
                _ => None,
            })
            .collect()
    }

    /// Has the thread reached its end?
    pub fn is_done(&self, thread: u32) -> bool {
        self.threads
            .get(thread as usize)
            .is_some_and(|t| t.state == State::Done)
    }

    /// One visible step of a thread that can take one, and what follows it silently.
    pub fn step(&mut self, thread: u32) {
        let t = thread as usize;
        if t < self.threads.len() && self.can_step(t) {
            if let Err(f) = self.visible(t) {
                self.threads[t].state = State::Faulted(f);
            }
            self.run_silent(t);
        }
    }

    fn start(&mut self, func: FuncId, args: &[i64]) -> u32 {
        let frame = self.frame(func, args, None, None);
        self.threads.push(Thread {
            frames: vec![frame],
            state: State::Running,
        });
        u32::try_from(self.threads.len() - 1).unwrap_or(u32::MAX)
    }

    fn frame(
        &self,
        func: FuncId,
        args: &[i64],
        dst: Option<Var>,
        handler: Option<(BlockId, BlockId)>,
    ) -> Frame {
        let f = self.program.func(func);
        let mut vars = vec![0; f.vars.len()];
        for (p, a) in f.params.iter().zip(args) {
            vars[p.index()] = *a;
        }
        Frame {
            func,
            block: BlockId(0),
            index: 0,
            vars,
            lists: BTreeMap::new(),
            dst,
            handler,
        }
    }

    /// The instruction a thread is at; `None` for terminators.
    fn next(&self, t: usize) -> Option<&'p Instr> {
        let frame = self.threads[t].frames.last()?;
        self.program.func(frame.func).blocks[frame.block.index()]
            .instrs
            .get(frame.index)
    }

    fn can_step(&self, t: usize) -> bool {
        if self.threads[t].state != State::Running {
            return false;
        }
        match self.next(t) {
            Some(Instr::Sync(Sync::Acquire(x))) => match self.value(t, x) {
                Ok(l) => self.locks.get(&l).is_none_or(|o| o.0 as usize == t),
                Err(_) => true,
            },
            Some(Instr::Sync(Sync::Join(x))) => match self.value(t, x) {
                Ok(h) => self
                    .handle(h)
                    .is_none_or(|u| self.threads[u].state == State::Done),
                Err(_) => true,
            },
            _ => true,
        }
    }

    /// Thread handles are small negative numbers, unlike any address.
    fn handle(&self, h: i64) -> Option<usize> {
        let t = usize::try_from((-1i64).checked_sub(h)?).ok()?;
        (t < self.threads.len()).then_some(t)
    }

    fn value(&self, t: usize, e: &Lin) -> Result<i64, Fault> {
        let frame = self.threads[t].frames.last().ok_or(Fault::Unknown)?;
        e.evaluate(|x| frame.vars[x.index()])
            .ok_or(Fault::Arithmetic)
    }

    fn set(&mut self, t: usize, x: Option<Var>, value: i64) {
        if let (Some(frame), Some(x)) = (self.threads[t].frames.last_mut(), x) {
            frame.vars[x.index()] = value;
        }
    }

    fn advance(&mut self, t: usize) {
        if let Some(frame) = self.threads[t].frames.last_mut() {
            frame.index += 1;
        }
    }

    fn emit(&mut self, t: usize, op: Op) {
        self.trace.push(Event {
            thread: u32::try_from(t).unwrap_or(u32::MAX),
            op,
        });
    }

    fn allocate(&mut self, bytes: i64) -> Result<i64, Fault> {
        let words = usize::try_from(bytes)
            .map_err(|_| Fault::TooLarge)?
            .div_ceil(8);
        if self.memory.len() + words > MAX_WORDS {
            return Err(Fault::TooLarge);
        }
        let start = BASE + i64::try_from(self.memory.len()).unwrap_or(0) * WORD;
        // A word between blocks, so that an index too far hits nothing.
        self.memory.resize(self.memory.len() + words + 1, 0);
        self.blocks.insert(start, start + bytes);
        Ok(start)
    }

    /// The memory word at an address inside a block.
    fn word(&mut self, addr: i64) -> Result<&mut i64, Fault> {
        let inside = self
            .blocks
            .range(..=addr)
            .next_back()
            .is_some_and(|(_, end)| addr < *end);
        if !inside || (addr - BASE) % WORD != 0 {
            return Err(Fault::BadAddress);
        }
        let index = usize::try_from((addr - BASE) / WORD).map_err(|_| Fault::BadAddress)?;
        self.memory.get_mut(index).ok_or(Fault::BadAddress)
    }

    fn visible(&mut self, t: usize) -> Result<(), Fault> {
        match self.next(t) {
            Some(Instr::Access {
                id,
                kind,
                path,
                dst,
                value,
            }) => {
                let addr = self.value(t, &path.lo)?;
                let value = match value {
                    Some(v) => Some(self.value(t, v)?),
                    None => None,
                };
                let word = self.word(addr)?;
                let old = *word;
                if let (Kind::Write, Some(v)) = (kind, value) {
                    *word = v;
                }
                let func = self.threads[t].frames.last().map_or(FuncId(0), |f| f.func);
                self.emit(
                    t,
                    Op::Access {
                        kind: *kind,
                        addr,
                        size: path.size,
                        site: (func, *id),
                    },
                );
                self.set(t, *dst, old);
            }
            Some(Instr::Sync(sync)) => self.sync(t, sync)?,
            _ => return Err(Fault::Unknown),
        }
        self.advance(t);
        Ok(())
    }

    fn sync(&mut self, t: usize, sync: &Sync) -> Result<(), Fault> {
        let me = u32::try_from(t).unwrap_or(u32::MAX);
        match sync {
            Sync::Acquire(x) => {
                let l = self.value(t, x)?;
                self.locks.entry(l).or_insert((me, 0)).1 += 1;
                self.emit(t, Op::Acquire(l));
            }
            Sync::Release(x) => {
                let l = self.value(t, x)?;
                match self.locks.get_mut(&l) {
                    Some((owner, depth)) if *owner == me => {
                        *depth -= 1;
                        if *depth == 0 {
                            self.locks.remove(&l);
                        }
                    }
                    _ => return Err(Fault::BadSync),
                }
                self.emit(t, Op::Release(l));
            }
            Sync::VolatileRead { dst, addr } => {
                let addr = self.value(t, addr)?;
                let value = *self.word(addr)?;
                self.emit(t, Op::VolatileRead(addr));
                self.set(t, Some(*dst), value);
            }
            Sync::VolatileWrite { addr, value } => {
                let (addr, value) = (self.value(t, addr)?, self.value(t, value)?);
                *self.word(addr)? = value;
                self.emit(t, Op::VolatileWrite(addr));
            }
            Sync::Fork { dst, func, args } => {
                let mut values = Vec::new();
                for a in args {
                    values.push(self.value(t, a)?);
                }
                let child = self.start(*func, &values);
                self.emit(t, Op::Fork(child));
                self.set(t, Some(*dst), -1 - i64::from(child));
                self.run_silent(child as usize);
            }
            Sync::Join(x) => {
                let h = self.value(t, x)?;
                let child = self.handle(h).ok_or(Fault::BadSync)?;
                self.emit(t, Op::Join(u32::try_from(child).unwrap_or(u32::MAX)));
            }
            Sync::Other { .. } => return Err(Fault::Unknown),
        }
        Ok(())
    }

    /// Runs a thread up to its next visible step.
    fn run_silent(&mut self, t: usize) {
        for _ in 0..MAX_SILENT {
            if self.threads[t].state != State::Running
                || matches!(self.next(t), Some(Instr::Access { .. } | Instr::Sync(_)))
            {
                return;
            }
            if let Err(f) = self.silent(t) {
                self.threads[t].state = State::Faulted(f);
            }
        }
        self.threads[t].state = State::Faulted(Fault::TooLarge);
    }

    fn silent(&mut self, t: usize) -> Result<(), Fault> {
        let Some(instr) = self.next(t) else {
            return self.terminator(t);
        };
        match instr {
            Instr::Let { dst, value } => {
                let v = self.value(t, value)?;
                self.set(t, Some(*dst), v);
            }
            Instr::Opaque { dst, op, args } => {
                let (Some(l), Some(r)) = (args.first(), args.get(1)) else {
                    return Err(Fault::Unknown);
                };
                let (l, r) = (self.value(t, l)?, self.value(t, r)?);
                let v = match op {
                    OpaqueOp::Mul => l.checked_mul(r),
                    OpaqueOp::Div => l.checked_div_euclid(r),
                    OpaqueOp::Rem => l.checked_rem_euclid(r),
                    OpaqueOp::Choice | OpaqueOp::Unknown => return Err(Fault::Unknown),
                };
                self.set(t, Some(*dst), v.ok_or(Fault::Arithmetic)?);
            }
            Instr::New { dst, bytes } => {
                let bytes = self.value(t, bytes)?;
                let addr = self.allocate(bytes)?;
                self.emit(t, Op::Alloc { addr, bytes });
                self.set(t, Some(*dst), addr);
            }
            Instr::Call(call) => {
                self.advance(t);
                return self.call(t, call, None);
            }
            Instr::Check(checks) => self.checks(t, checks)?,
            Instr::Commit(checks) => {
                self.commits += 1;
                if self.commits.is_multiple_of(self.commit_period) {
                    self.checks(t, checks)?;
                }
            }
            Instr::Gather(gather) => self.gather(t, gather)?,
            Instr::Gathered(list) => self.gathered(t, *list),
            Instr::Access { .. } | Instr::Sync(_) => return Err(Fault::Unknown),
        }
        self.advance(t);
        Ok(())
    }

    fn gather(&mut self, t: usize, gather: &Gather) -> Result<(), Fault> {
        let (list, kind) = (gather.list, gather.check.kind);
        let mut entries = Vec::new();
        for path in &gather.check.paths {
            let size = path.size;
            let locations = self.locations(t, path)?.into_iter();
            entries.extend(locations.map(|addr| Op::Check { kind, addr, size }));
        }
        let frame = self.threads[t].frames.last_mut().ok_or(Fault::Unknown)?;
        let all = frame.lists.entry(list).or_default();
        all.extend(entries);
        if all.len() >= FULL {
            self.gathered(t, list);
        }
        Ok(())
    }

    fn gathered(&mut self, t: usize, list: ListId) {
        let frame = self.threads[t].frames.last_mut();
        for check in frame
            .and_then(|f| f.lists.remove(&list))
            .into_iter()
            .flatten()
        {
            self.emit(t, check);
        }
    }

    fn checks(&mut self, t: usize, checks: &[Check]) -> Result<(), Fault> {
        for c in checks {
            for p in &c.paths {
                for addr in self.locations(t, p)? {
                    let (kind, size) = (c.kind, p.size);
                    self.emit(t, Op::Check { kind, addr, size });
                }
            }
        }
        Ok(())
    }

    fn locations(&self, t: usize, p: &Path) -> Result<Vec<i64>, Fault> {
        let lo = self.value(t, &p.lo)?;
        match &p.extent {
            Extent::One => Ok(vec![lo]),
            Extent::Many { hi, stride } => {
                let hi = self.value(t, hi)?;
                if (hi.saturating_sub(lo)) / stride > MAX_WORDS as i64 {
                    return Err(Fault::TooLarge);
                }
                let step = usize::try_from(*stride).map_err(|_| Fault::Arithmetic)?;
                Ok((lo..hi).step_by(step.max(1)).collect())
            }
        }
    }

    fn call(
        &mut self,
        t: usize,
        call: &Call,
        handler: Option<(BlockId, BlockId)>,
    ) -> Result<(), Fault> {
        let Callee::Known(func) = call.callee else {
            return Err(Fault::Unknown);
        };
        if self.threads[t].frames.len() >= MAX_FRAMES {
            return Err(Fault::TooLarge);
        }
        let mut args = Vec::new();
        for a in &call.args {
            args.push(self.value(t, a)?);
        }
        let frame = self.frame(func, &args, call.dst, handler);
        self.threads[t].frames.push(frame);
        Ok(())
    }

    fn terminator(&mut self, t: usize) -> Result<(), Fault> {
        let Some(frame) = self.threads[t].frames.last() else {
            return Err(Fault::Unknown);
        };
        let program = self.program;
        match &program.func(frame.func).blocks[frame.block.index()].term {
            Terminator::Goto(b) => self.jump(t, *b),
            Terminator::Branch {
                cond,
                then,
                otherwise,
            } => {
                let v = self.value(t, cond.lin())?;
                self.jump(t, if cond.holds(v) { *then } else { *otherwise })
            }
            Terminator::Switch(_) => Err(Fault::Unknown),
            Terminator::Invoke {
                call,
                normal,
                unwind,
            } => self.call(t, call, Some((*normal, *unwind))),
            Terminator::Return(value) => {
                let value = self.value(t, value)?;
                let Some(frame) = self.threads[t].frames.pop() else {
                    return Err(Fault::Unknown);
                };
                if self.threads[t].frames.is_empty() {
                    self.threads[t].state = State::Done;
                    return Ok(());
                }
                self.set(t, frame.dst, value);
                match frame.handler {
                    Some((normal, _)) => self.jump(t, normal),
                    None => Ok(()),
                }
            }
            Terminator::Unwind => {
                while let Some(frame) = self.threads[t].frames.pop() {
                    if let Some((_, unwind)) = frame.handler {
                        return self.jump(t, unwind);
                    }
                }
                self.threads[t].state = State::Done;
                Ok(())
            }
            Terminator::Stop => {
                self.threads[t].frames.clear();
                self.threads[t].state = State::Done;
                Ok(())
            }
        }
    }

    /// Goes to the start of `to`; its phis take their values at once.
    fn jump(&mut self, t: usize, to: BlockId) -> Result<(), Fault> {
        let Some(frame) = self.threads[t].frames.last() else {
            return Err(Fault::Unknown);
        };
        let phis = &self.program.func(frame.func).blocks[to.index()].phis;
        let from = frame.block;
        let mut values = Vec::new();
        for phi in phis {
            let value = phi.from(from).ok_or(Fault::Unknown)?;
            values.push((phi.dst, self.value(t, value)?));
        }
        for (x, v) in values {
            self.set(t, Some(x), v);
        }
        if let Some(frame) = self.threads[t].frames.last_mut() {
            frame.block = to;
            frame.index = 0;
        }
        Ok(())
    }
}
