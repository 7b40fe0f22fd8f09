//! BFJ to the IR: SSA construction over structured code.
//!
//! `while` is first rewritten into a guarded `loop`; [`Lowered::source`] is the rewritten program, and
//! every point of the IR knows its place in it, so that checks and contexts can be printed there.

use super::Error;
use super::ast::*;
use super::names::{Names, guarded, names_assigned};
use crate::ir::{
    BlockId, Call, Callee, Check, Cond, Extent, FuncId, Function, Gather, Instr, Kind, ListId,
    ONCE, OpaqueOp, Path, Phi, Program, Shape, Sync, Terminator, Var,
};
use crate::lin::Lin;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Bytes of a field or element.
pub(crate) const WORD: i64 = 8;

type Env = BTreeMap<String, Lin>;

/// Where a point of the IR is in the text, and what the locals are called there.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Which body, counted as written.
    pub body: u32,
    /// Before which statement.
    pub index: usize,
    /// The current value of each local.
    pub env: Rc<Env>,
}

/// A lowered program.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The IR.
    pub program: Program,
    /// The text it stands for.
    pub source: Source,
    /// For each function, block and point.
    pub origins: Vec<Vec<Vec<Origin>>>,
}

/// Lowers a program.
pub fn lower(source: &Source) -> Result<Lowered, Error> {
    let source = Source {
        classes: source
            .classes
            .iter()
            .map(|c| Class {
                methods: c
                    .methods
                    .iter()
                    .map(|m| Method {
                        body: guarded(&m.body),
                        ..m.clone()
                    })
                    .collect(),
                ..c.clone()
            })
            .collect(),
        shared: source.shared.clone(),
        threads: source.threads.iter().map(guarded).collect(),
    };
    let names = Names::collect(&source)?;
    let mut program = Program {
        fields: names.fields.clone(),
        ..Program::default()
    };
    let mut origins = Vec::new();
    let mut bodies = 0;
    for s in &source.shared {
        let bytes = match &s.what {
            Alloc::Object(c) => names.object_size(c, s.pos)?,
            Alloc::Array(Expr::Int(n)) if (0..=1 << 20).contains(n) => n * WORD,
            Alloc::Array(_) => {
                return Err(Error {
                    pos: s.pos,
                    message: "expected a constant length between 0 and 1048576 for a shared array"
                        .into(),
                });
            }
        };
        program.shared.push(bytes);
    }
    for m in source.classes.iter().flat_map(|c| &c.methods) {
        let params: Vec<String> = std::iter::once("this".to_owned())
            .chain(m.params.iter().cloned())
            .collect();
        let (f, o) = function(&names, &m.name, &params, &m.body, &mut bodies)?;
        program.funcs.push(f);
        origins.push(o);
    }
    let shared: Vec<String> = source.shared.iter().map(|s| s.name.clone()).collect();
    for (i, t) in source.threads.iter().enumerate() {
        let (f, o) = function(&names, &format!("thread {i}"), &shared, t, &mut bodies)?;
        program.threads.push(FuncId(
            u32::try_from(program.funcs.len()).unwrap_or(u32::MAX),
        ));
        program.funcs.push(f);
        origins.push(o);
    }
    Ok(Lowered {
        program,
        source,
        origins,
    })
}

fn function(
    names: &Names,
    name: &str,
    params: &[String],
    body: &Body,
    bodies: &mut u32,
) -> Result<(Function, Vec<Vec<Origin>>), Error> {
    let mut f = Function {
        name: name.to_owned(),
        ..Function::default()
    };
    let entry = f.block(Terminator::Stop);
    let mut env = Env::new();
    for p in params {
        let x = f.var(p.clone());
        f.params.push(x);
        env.insert(p.clone(), Lin::from(x));
    }
    let mut l = Lowering {
        names,
        f,
        origins: vec![Vec::new()],
        at: entry,
        env: Rc::new(env),
        cursor: (0, 0),
        breaks: Vec::new(),
        catches: Vec::new(),
        bodies: *bodies,
        pos: Pos::default(),
    };
    l.body(body)?;
    l.close(Terminator::Return(Lin::from(0)));
    *bodies = l.bodies;
    l.f.split_critical_edges();
    let mut origins = l.origins;
    // A block on an edge is where its source ends.
    for b in l.f.blocks.iter().skip(origins.len()) {
        let from = b.on_edge.map_or(0, |e| e.0.index());
        let origin = origins[from].last().cloned();
        origins.push(origin.into_iter().collect());
    }
    Ok((l.f, origins))
}

/// An edge that leaves a construct sideways, with the locals it carries.
type Exit = (BlockId, Rc<Env>);

struct Lowering<'a> {
    names: &'a Names,
    f: Function,
    origins: Vec<Vec<Origin>>,
    at: BlockId,
    env: Rc<Env>,
    cursor: (u32, usize),
    /// Per enclosing loop: who breaks out of it.
    breaks: Vec<Vec<Exit>>,
    /// Per enclosing `try`: who throws into its handler.
    catches: Vec<Vec<Exit>>,
    bodies: u32,
    pos: Pos,
}

impl Lowering<'_> {
    fn too_big(&self) -> Error {
        Error {
            pos: self.pos,
            message: "a constant here is too large for 64 bits; use smaller ones".into(),
        }
    }

    fn origin(&self) -> Origin {
        Origin {
            body: self.cursor.0,
            index: self.cursor.1,
            env: Rc::clone(&self.env),
        }
    }

    fn open(&mut self) -> BlockId {
        let b = self.f.block(Terminator::Stop);
        self.origins.push(Vec::new());
        b
    }

    fn push(&mut self, i: Instr) {
        let origin = self.origin();
        self.origins[self.at.index()].push(origin);
        self.f.blocks[self.at.index()].instrs.push(i);
    }

    /// Ends the current block. What follows is unreachable until `self.at` is set anew.
    fn close(&mut self, term: Terminator) {
        let origin = self.origin();
        self.origins[self.at.index()].push(origin);
        self.f.blocks[self.at.index()].term = term;
    }

    fn bind(&mut self, name: &str, value: Lin) {
        Rc::make_mut(&mut self.env).insert(name.to_owned(), value);
    }

    /// Pushes an instruction that gives `name` a new value.
    fn define(&mut self, name: &str, make: impl FnOnce(Var) -> Instr) {
        let x = self.f.var(name);
        self.push(make(x));
        self.bind(name, Lin::from(x));
    }

    fn local(&self, name: &str) -> Lin {
        self.env.get(name).cloned().unwrap_or_default()
    }

    fn body(&mut self, body: &Body) -> Result<(), Error> {
        let id = self.bodies;
        self.bodies += 1;
        for (i, s) in body.stmts.iter().enumerate() {
            self.cursor = (id, i);
            self.pos = s.pos;
            self.stmt(&s.kind)?;
        }
        self.cursor = (id, body.stmts.len());
        Ok(())
    }

    fn stmt(&mut self, s: &StmtKind) -> Result<(), Error> {
        match s {
            StmtKind::Skip => {}
            StmtKind::Assign(x, e) => {
                let value = self.expr(e)?;
                let constant = value.as_constant();
                self.define(x, |dst| Instr::Let { dst, value });
                // Known constants decide branches when they are lowered.
                if let Some(c) = constant {
                    self.bind(x, Lin::from(c));
                }
            }
            StmtKind::Rename(x, y) => {
                let value = self.local(y);
                self.define(x, |dst| Instr::Let { dst, value });
            }
            StmtKind::New(x, what) => {
                let bytes = match what {
                    Alloc::Object(c) => Lin::from(self.names.object_size(c, self.pos)?),
                    Alloc::Array(e) => self.expr(e)?.scaled(WORD).ok_or_else(|| self.too_big())?,
                };
                self.define(x, |dst| Instr::New { dst, bytes });
            }
            StmtKind::Read(x, p) => self.read(x, p)?,
            StmtKind::Write(p, e) => self.write(p, e)?,
            StmtKind::Acquire(x) => self.push(Instr::Sync(Sync::Acquire(self.local(x)))),
            StmtKind::Release(x) => self.push(Instr::Sync(Sync::Release(self.local(x)))),
            StmtKind::Join(x) => self.push(Instr::Sync(Sync::Join(self.local(x)))),
            StmtKind::Fork(x, c) => {
                let (func, args) = self.callee(c)?;
                self.define(x, |dst| Instr::Sync(Sync::Fork { dst, func, args }));
            }
            StmtKind::Call(x, c) => self.call(x.as_deref(), c)?,
            StmtKind::If(c, t, e) => self.branch(c, t, e)?,
            StmtKind::Loop(b) => self.loop_(b)?,
            // Rewritten before.
            StmtKind::While(..) => {}
            StmtKind::Break => {
                let exit = (self.at, Rc::clone(&self.env));
                match self.breaks.last_mut() {
                    Some(exits) => exits.push(exit),
                    None => {
                        return Err(Error {
                            pos: self.pos,
                            message: "`break` outside of a loop".into(),
                        });
                    }
                }
                self.close(Terminator::Stop);
                self.at = self.open();
            }
            StmtKind::Return(e) => {
                let value = self.expr(e)?;
                self.close(Terminator::Return(value));
                self.at = self.open();
            }
            StmtKind::Throw => {
                let exit = (self.at, Rc::clone(&self.env));
                match self.catches.last_mut() {
                    Some(exits) => {
                        exits.push(exit);
                        self.close(Terminator::Stop);
                    }
                    None => self.close(Terminator::Unwind),
                }
                self.at = self.open();
            }
            StmtKind::Try(t, c) => self.try_(t, c)?,
            StmtKind::Check(cs) => {
                let checks = self.checks(cs)?;
                self.push(Instr::Check(checks));
            }
            StmtKind::Commit(cs) => {
                let checks = self.checks(cs)?;
                self.push(Instr::Commit(checks));
            }
            StmtKind::Gather(list, c) => {
                for check in self.checks(std::slice::from_ref(c))? {
                    let list = ListId(*list);
                    self.push(Instr::Gather(Gather { list, check }));
                }
            }
            StmtKind::Gathered(list) => self.push(Instr::Gathered(ListId(*list))),
        }
        Ok(())
    }

    fn read(&mut self, x: &str, p: &Place) -> Result<(), Error> {
        let (path, volatile) = self.place(p)?;
        if volatile {
            let addr = path.lo;
            self.define(x, |dst| Instr::Sync(Sync::VolatileRead { dst, addr }));
        } else {
            let id = self.f.access();
            self.define(x, |dst| Instr::Access {
                id,
                kind: Kind::Read,
                path,
                dst: Some(dst),
                value: None,
            });
        }
        Ok(())
    }

    fn write(&mut self, p: &Place, e: &Expr) -> Result<(), Error> {
        let value = self.expr(e)?;
        let (path, volatile) = self.place(p)?;
        if volatile {
            self.push(Instr::Sync(Sync::VolatileWrite {
                addr: path.lo,
                value,
            }));
        } else {
            let id = self.f.access();
            self.push(Instr::Access {
                id,
                kind: Kind::Write,
                path,
                dst: None,
                value: Some(value),
            });
        }
        Ok(())
    }

    fn base(&mut self, x: &str) -> Lin {
        let base = self.local(x);
        if let Some(v) = base.as_var() {
            self.f.vars[v.index()].is_ref = true;
        }
        base
    }

    fn field(&mut self, x: &str, f: &str) -> Result<(Path, bool), Error> {
        let index = self.names.field_index(f).ok_or_else(|| Error {
            pos: self.pos,
            message: format!("no class has a field `{f}`"),
        })?;
        let offset = i64::try_from(index).unwrap_or(i64::MAX / WORD) * WORD;
        let lo = self.base(x).offset(offset).ok_or_else(|| self.too_big())?;
        let volatile = self.names.volatile.get(f).copied().unwrap_or(false);
        Ok((Path::one(lo, 8, Shape::Field), volatile))
    }

    fn element(&mut self, x: &str, e: &Expr) -> Result<Lin, Error> {
        let index = self.expr(e)?;
        self.base(x)
            .add_scaled(&index, WORD)
            .ok_or_else(|| self.too_big())
    }

    fn place(&mut self, p: &Place) -> Result<(Path, bool), Error> {
        match p {
            Place::Field(x, f) => self.field(x, f),
            Place::Element(x, e) => {
                let lo = self.element(x, e)?;
                Ok((Path::one(lo, 8, Shape::Element), false))
            }
        }
    }

    fn checks(&mut self, cs: &[CheckExpr]) -> Result<Vec<Check>, Error> {
        let mut out = Vec::new();
        for c in cs {
            let paths = match &c.path {
                CheckPath::Fields(x, fs) => {
                    let mut paths = Vec::new();
                    for f in fs {
                        paths.push(self.field(x, f)?.0);
                    }
                    paths
                }
                CheckPath::Element(x, e) => {
                    vec![Path::one(self.element(x, e)?, 8, Shape::Element)]
                }
                CheckPath::Range(x, lo, hi, k) => {
                    let stride = k.checked_mul(WORD).ok_or_else(|| self.too_big())?;
                    vec![Path {
                        lo: self.element(x, lo)?,
                        extent: Extent::Many {
                            hi: self.element(x, hi)?,
                            stride,
                        },
                        size: 8,
                        shape: Shape::Element,
                    }]
                }
            };
            let mut paths = paths;
            if let Some(e) = &c.when {
                let positive = self.expr(e)?;
                for path in &mut paths {
                    let hi = path.lo.plus(&positive).ok_or_else(|| self.too_big())?;
                    path.extent = Extent::Many { hi, stride: ONCE };
                }
            }
            out.push(Check {
                kind: c.kind,
                paths,
                sources: Vec::new(),
            });
        }
        Ok(out)
    }

    fn callee(&mut self, c: &CallExpr) -> Result<(FuncId, Vec<Lin>), Error> {
        let Some(&(func, params)) = self.names.methods.get(&c.method) else {
            return Err(Error {
                pos: self.pos,
                message: format!("there is no method `{}`", c.method),
            });
        };
        if params != c.args.len() {
            return Err(Error {
                pos: self.pos,
                message: format!(
                    "`{}` takes {params} arguments besides its receiver, {} are given",
                    c.method,
                    c.args.len()
                ),
            });
        }
        let mut args = vec![self.local(&c.receiver)];
        for a in &c.args {
            args.push(self.expr(a)?);
        }
        Ok((func, args))
    }

    fn call(&mut self, x: Option<&str>, c: &CallExpr) -> Result<(), Error> {
        let (func, args) = self.callee(c)?;
        let dst = x.map(|x| self.f.var(x));
        let call = Call {
            dst,
            callee: Callee::Known(func),
            args,
        };
        if self.catches.is_empty() {
            self.push(Instr::Call(call));
            if let (Some(x), Some(dst)) = (x, dst) {
                self.bind(x, Lin::from(dst));
            }
            return Ok(());
        }
        let normal = self.open();
        let exit = (self.at, Rc::clone(&self.env));
        if let Some(exits) = self.catches.last_mut() {
            exits.push(exit);
        }
        // The handler is filled in when it exists.
        self.close(Terminator::Invoke {
            call,
            normal,
            unwind: normal,
        });
        if let (Some(x), Some(dst)) = (x, dst) {
            self.bind(x, Lin::from(dst));
        }
        self.at = normal;
        Ok(())
    }

    fn branch(&mut self, c: &BoolExpr, t: &Body, e: &Body) -> Result<(), Error> {
        let cond = self.condition(c)?;
        let (then, otherwise) = (self.open(), self.open());
        self.close(match cond.lin().as_constant() {
            Some(c) if cond.holds(c) => Terminator::Goto(then),
            Some(_) => Terminator::Goto(otherwise),
            None => Terminator::Branch {
                cond,
                then,
                otherwise,
            },
        });
        let cursor = self.cursor;
        let env = Rc::clone(&self.env);
        let mut ends = Vec::new();
        for (start, body) in [(then, t), (otherwise, e)] {
            self.at = start;
            self.env = Rc::clone(&env);
            self.body(body)?;
            ends.push((self.at, Rc::clone(&self.env)));
            self.close(Terminator::Stop);
        }
        self.cursor = (cursor.0, cursor.1 + 1);
        self.merge(ends);
        self.cursor = cursor;
        Ok(())
    }

    fn loop_(&mut self, body: &Body) -> Result<(), Error> {
        let header = self.open();
        let before = self.at;
        self.close(Terminator::Goto(header));
        let cursor = self.cursor;
        let mut assigned = BTreeSet::new();
        names_assigned(body, &mut assigned);
        self.at = header;
        for name in &assigned {
            let entry = self.local(name);
            let dst = self.f.var(name.clone());
            self.bind(name, Lin::from(dst));
            self.f.blocks[header.index()].phis.push(Phi {
                dst,
                args: vec![(before, entry)],
            });
        }
        self.breaks.push(Vec::new());
        self.body(body)?;
        let latch = self.at;
        self.close(Terminator::Goto(header));
        for (i, name) in assigned.iter().enumerate() {
            let value = self.local(name);
            self.f.blocks[header.index()].phis[i]
                .args
                .push((latch, value));
        }
        let exits = self.breaks.pop().unwrap_or_default();
        self.cursor = (cursor.0, cursor.1 + 1);
        self.merge(exits);
        self.cursor = cursor;
        Ok(())
    }

    fn try_(&mut self, t: &Body, c: &Body) -> Result<(), Error> {
        let cursor = self.cursor;
        self.catches.push(Vec::new());
        self.body(t)?;
        let thrown = self.catches.pop().unwrap_or_default();
        let end = (self.at, Rc::clone(&self.env));
        self.close(Terminator::Stop);
        self.cursor = (self.bodies, 0);
        self.merge(thrown);
        self.body(c)?;
        let caught = (self.at, Rc::clone(&self.env));
        self.close(Terminator::Stop);
        self.cursor = (cursor.0, cursor.1 + 1);
        self.merge(vec![end, caught]);
        self.cursor = cursor;
        Ok(())
    }

    /// Opens a block that `ends` lead to, with phis for the locals on which they differ.
    fn merge(&mut self, ends: Vec<Exit>) {
        let reachable = self.reachable();
        let ends: Vec<Exit> = ends
            .into_iter()
            .filter(|e| reachable[e.0.index()])
            .collect();
        let join = self.open();
        self.at = join;
        let Some((_, first)) = ends.first() else {
            return;
        };
        let mut env = (**first).clone();
        let names: BTreeSet<&String> = ends.iter().flat_map(|e| e.1.keys()).collect();
        for name in names {
            let value = |env: &Env| env.get(name).cloned().unwrap_or_default();
            let v = value(first);
            if ends.iter().all(|e| value(&e.1) == v) {
                env.insert(name.clone(), v);
                continue;
            }
            let dst = self.f.var(name.clone());
            let args = ends.iter().map(|e| (e.0, value(&e.1))).collect();
            self.f.blocks[join.index()].phis.push(Phi { dst, args });
            env.insert(name.clone(), Lin::from(dst));
        }
        for (b, _) in &ends {
            match &mut self.f.blocks[b.index()].term {
                Terminator::Invoke { unwind, .. } => *unwind = join,
                term => *term = Terminator::Goto(join),
            }
        }
        self.env = Rc::new(env);
    }

    /// Blocks that control can reach, as far as the function is built.
    fn reachable(&self) -> Vec<bool> {
        let mut seen = vec![false; self.f.blocks.len()];
        let mut todo = vec![BlockId(0)];
        // The block that is being built, and blocks that wait for a merge, end in `Stop`: what leads
        // to them is already in place.
        while let Some(b) = todo.pop() {
            if !std::mem::replace(&mut seen[b.index()], true) {
                todo.extend(self.f.blocks[b.index()].term.successors());
            }
        }
        seen
    }

    fn condition(&mut self, c: &BoolExpr) -> Result<Cond, Error> {
        let (l, r) = (self.expr(&c.left)?, self.expr(&c.right)?);
        let difference = |a: &Lin, b: &Lin, k: i64| {
            a.minus(b)
                .and_then(|d| d.offset(k))
                .ok_or_else(|| self.too_big())
        };
        Ok(match c.cmp {
            Cmp::Eq => Cond::Zero(difference(&l, &r, 0)?),
            Cmp::Ne => Cond::NonZero(difference(&l, &r, 0)?),
            Cmp::Lt => Cond::NonNegative(difference(&r, &l, -1)?),
            Cmp::Le => Cond::NonNegative(difference(&r, &l, 0)?),
            Cmp::Gt => Cond::NonNegative(difference(&l, &r, -1)?),
            Cmp::Ge => Cond::NonNegative(difference(&l, &r, 0)?),
        })
    }

    fn expr(&mut self, e: &Expr) -> Result<Lin, Error> {
        let (op, l, r) = match e {
            Expr::Int(i) => return Ok(Lin::from(*i)),
            Expr::Var(x) => return Ok(self.local(x)),
            Expr::Binary(op, l, r) => (*op, self.expr(l)?, self.expr(r)?),
        };
        let linear = match op {
            Op::Add => l.plus(&r),
            Op::Sub => l.minus(&r),
            Op::Mul if l.as_constant().is_some() => r.scaled(l.constant()),
            Op::Mul if r.as_constant().is_some() => l.scaled(r.constant()),
            Op::Mul | Op::Div | Op::Rem => {
                let dst = self.f.var("t");
                let op = match op {
                    Op::Mul => OpaqueOp::Mul,
                    Op::Div => OpaqueOp::Div,
                    _ => OpaqueOp::Rem,
                };
                let args = vec![l, r];
                self.push(Instr::Opaque { dst, op, args });
                return Ok(Lin::from(dst));
            }
        };
        linear.ok_or_else(|| self.too_big())
    }
}
