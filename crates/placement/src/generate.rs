//! Random BFJ programs for testing: small, many of them racy, few of them faulty, with every construct
//! that placement treats specially.

use crate::text::ast::*;

/// A small deterministic generator of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// Below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        usize::try_from(z % (n.max(1) as u64)).unwrap_or(0)
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// How large a program may be.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Initial threads.
    pub threads: usize,
    /// Statements per body, about.
    pub statements: usize,
    /// Nesting of loops and branches.
    pub depth: usize,
}

const FIELDS: [&str; 3] = ["f", "g", "h"];
const REFS: [&str; 4] = ["o", "p", "r", "r"];
const ARRAYS: [&str; 3] = ["a", "b", "c"];
const INTS: [&str; 4] = ["i", "j", "k", "t"];

/// A program. References `o`, `p`, arrays `a`, `b` and a lock `l` are shared; `r` and `c` are locals that
/// alias them or are new; `i` to `t` are small integers.
pub fn program(random: &mut Random, size: Size) -> Source {
    let mut g = Generator { random, size };
    let methods = (0..3).map(|m| g.method(m)).collect();
    let field = |name: &str, volatile| Field {
        name: name.into(),
        volatile,
        pos: Pos::default(),
    };
    let class = Class {
        name: "C".into(),
        fields: FIELDS
            .iter()
            .map(|f| field(f, false))
            .chain([field("v", true)])
            .collect(),
        methods,
        pos: Pos::default(),
    };
    let shared = |name: &str, what| Shared {
        name: name.into(),
        what,
        pos: Pos::default(),
    };
    let object = || Alloc::Object("C".into());
    let array = || Alloc::Array(Expr::Int(24));
    let threads = (0..g.size.threads).map(|_| g.thread()).collect();
    Source {
        classes: vec![class],
        shared: vec![
            shared("o", object()),
            shared("p", object()),
            shared("l", object()),
            shared("a", array()),
            shared("b", array()),
        ],
        threads,
    }
}

struct Generator<'r> {
    random: &'r mut Random,
    size: Size,
}

fn stmt(kind: StmtKind) -> Stmt {
    Stmt {
        kind,
        pos: Pos::default(),
    }
}

fn var(x: &str) -> Expr {
    Expr::Var(x.into())
}

fn binary(op: Op, l: Expr, r: Expr) -> Expr {
    Expr::Binary(op, Box::new(l), Box::new(r))
}

fn plus(x: &str, c: i64) -> Expr {
    match c {
        0 => var(x),
        c if c < 0 => binary(Op::Sub, var(x), Expr::Int(-c)),
        c => binary(Op::Add, var(x), Expr::Int(c)),
    }
}

impl Generator<'_> {
    fn thread(&mut self) -> Body {
        let mut stmts = self.locals();
        self.body(&mut stmts, self.size.depth, 3, false);
        Body { stmts }
    }

    /// Methods call only those before them, so that every call ends.
    fn method(&mut self, index: usize) -> Method {
        let mut stmts = vec![
            stmt(StmtKind::Assign("o".into(), var("this"))),
            stmt(StmtKind::Assign("p".into(), var("q"))),
        ];
        stmts.extend(self.locals());
        let saved = self.size;
        self.size.statements = saved.statements.min(3);
        self.body(&mut stmts, saved.depth.min(1), index, false);
        self.size = saved;
        if self.random.chance(30) {
            let throw = vec![stmt(StmtKind::Throw)];
            let cond = self.condition();
            stmts.push(stmt(StmtKind::If(
                cond,
                Body { stmts: throw },
                Body::default(),
            )));
        }
        stmts.push(stmt(StmtKind::Return(var("t"))));
        Method {
            name: format!("m{index}"),
            params: ["q", "l", "a", "b", "n"].map(String::from).to_vec(),
            body: Body { stmts },
            pos: Pos::default(),
        }
    }

    fn locals(&mut self) -> Vec<Stmt> {
        let r = match self.random.below(4) {
            0 => StmtKind::New("r".into(), Alloc::Object("C".into())),
            1 => StmtKind::Assign("r".into(), var("p")),
            _ => StmtKind::Assign("r".into(), var("o")),
        };
        let c = match self.random.below(4) {
            0 => StmtKind::New("c".into(), Alloc::Array(Expr::Int(24))),
            1 => StmtKind::Assign("c".into(), var("b")),
            _ => StmtKind::Assign("c".into(), var("a")),
        };
        vec![stmt(r), stmt(c)]
    }

    fn body(&mut self, out: &mut Vec<Stmt>, depth: usize, callable: usize, in_loop: bool) {
        for _ in 0..1 + self.random.below(self.size.statements) {
            self.statement(out, depth, callable, in_loop);
        }
    }

    fn block(&mut self, depth: usize, callable: usize, in_loop: bool) -> Body {
        let mut stmts = Vec::new();
        let saved = self.size;
        self.size.statements = saved.statements.clamp(1, 3);
        self.body(&mut stmts, depth.saturating_sub(1), callable, in_loop);
        self.size = saved;
        Body { stmts }
    }

    fn statement(&mut self, out: &mut Vec<Stmt>, depth: usize, callable: usize, in_loop: bool) {
        let kind = match self.random.below(if depth == 0 { 68 } else { 100 }) {
            0..30 => self.access(),
            30..36 => self.assign(),
            36..42 => return self.locked(out, depth, callable, in_loop),
            42..50 => self.volatile(),
            50..56 if callable > 0 => {
                let result = self.random.chance(50).then(|| "t".to_owned());
                StmtKind::Call(result, self.call(callable))
            }
            56..59 if callable > 0 => return self.fork(out, depth, callable),
            59..61 if in_loop => {
                let stop = Body {
                    stmts: vec![stmt(StmtKind::Break)],
                };
                StmtKind::If(self.condition(), stop, Body::default())
            }
            61..62 => {
                let leave = Body {
                    stmts: vec![stmt(StmtKind::Return(Expr::Int(1)))],
                };
                StmtKind::If(self.condition(), leave, Body::default())
            }
            50..68 => self.access(),
            68..82 => {
                let cond = self.condition();
                let then = self.block(depth, callable, in_loop);
                let otherwise = if self.random.chance(50) {
                    self.block(depth, callable, in_loop)
                } else {
                    Body::default()
                };
                StmtKind::If(cond, then, otherwise)
            }
            82..96 => return self.looped(out, depth, callable),
            96.. => {
                let mut tried = self.block(depth, callable, in_loop);
                if self.random.chance(50) {
                    let throw = Body {
                        stmts: vec![stmt(StmtKind::Throw)],
                    };
                    let cond = self.condition();
                    tried
                        .stmts
                        .push(stmt(StmtKind::If(cond, throw, Body::default())));
                }
                StmtKind::Try(tried, self.block(depth, callable, in_loop))
            }
        };
        out.push(stmt(kind));
    }

    fn index(&mut self) -> Expr {
        let (x, y) = (self.random.pick(&INTS), self.random.pick(&INTS));
        match self.random.below(12) {
            0..3 => Expr::Int(self.small()),
            3..7 => var(x),
            7..9 => {
                let c = self.small();
                plus(x, c.min(2))
            }
            9 => binary(Op::Mul, Expr::Int(2), var(x)),
            10 => binary(Op::Add, var(x), var(y)),
            _ => binary(Op::Mul, var(x), var(y)),
        }
    }

    fn small(&mut self) -> i64 {
        i64::try_from(self.random.below(4)).unwrap_or(0)
    }

    fn place(&mut self) -> Place {
        if self.random.chance(50) {
            Place::Field(
                self.random.pick(&REFS).into(),
                self.random.pick(&FIELDS).into(),
            )
        } else {
            let array = self.random.pick(&ARRAYS).into();
            Place::Element(array, self.index())
        }
    }

    fn access(&mut self) -> StmtKind {
        let place = self.place();
        if self.random.chance(50) {
            StmtKind::Read(self.random.pick(&INTS).into(), place)
        } else {
            let value = if self.random.chance(70) {
                Expr::Int(self.small())
            } else {
                // Only what was small stays small.
                Expr::Int(1)
            };
            StmtKind::Write(place, value)
        }
    }

    fn assign(&mut self) -> StmtKind {
        match self.random.below(8) {
            0 => StmtKind::Assign("r".into(), var(self.random.pick(&["o", "p"]))),
            1 => StmtKind::Assign("c".into(), var(self.random.pick(&["a", "b"]))),
            2 => StmtKind::New("r".into(), Alloc::Object("C".into())),
            3 => {
                let (x, y) = (self.random.pick(&INTS), self.random.pick(&INTS));
                StmtKind::Rename(x.into(), y.into())
            }
            _ => {
                let c = self.small();
                StmtKind::Assign(self.random.pick(&INTS).into(), Expr::Int(c))
            }
        }
    }

    fn volatile(&mut self) -> StmtKind {
        let place = Place::Field(self.random.pick(&["o", "p", "r"]).into(), "v".into());
        if self.random.chance(50) {
            StmtKind::Read("t".into(), place)
        } else {
            StmtKind::Write(place, Expr::Int(1))
        }
    }

    fn locked(&mut self, out: &mut Vec<Stmt>, depth: usize, callable: usize, in_loop: bool) {
        out.push(stmt(StmtKind::Acquire("l".into())));
        let inside = self.block(depth, callable, in_loop);
        out.extend(inside.stmts);
        out.push(stmt(StmtKind::Release("l".into())));
    }

    fn call(&mut self, callable: usize) -> CallExpr {
        let other = self.random.pick(&["o", "p", "r"]);
        let n = self.small();
        CallExpr {
            receiver: self.random.pick(&["o", "p", "r"]).into(),
            method: format!("m{}", self.random.below(callable)),
            args: vec![
                var(other),
                var("l"),
                var(self.random.pick(&ARRAYS)),
                var(self.random.pick(&ARRAYS)),
                Expr::Int(n),
            ],
        }
    }

    fn fork(&mut self, out: &mut Vec<Stmt>, depth: usize, callable: usize) {
        let call = self.call(callable);
        out.push(stmt(StmtKind::Fork("z".into(), call)));
        let between = self.block(depth, 0, false);
        out.extend(between.stmts);
        if self.random.chance(80) {
            out.push(stmt(StmtKind::Join("z".into())));
        }
    }

    fn condition(&mut self) -> BoolExpr {
        let x = self.random.pick(&INTS);
        let right = if self.random.chance(70) {
            Expr::Int(self.small())
        } else {
            var(self.random.pick(&INTS))
        };
        BoolExpr {
            left: var(x),
            cmp: [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge][self.random.below(6)],
            right,
        }
    }

    /// A loop over `x` through an array that is now and then another one, and since when.
    fn rebased(&mut self, out: &mut Vec<Stmt>, body: &mut Body, x: &str) {
        out.push(stmt(StmtKind::Assign("s".into(), var(x))));
        let other = var(self.random.pick(&["a", "b"]));
        let changed = Body {
            stmts: vec![
                stmt(StmtKind::Assign("c".into(), other)),
                stmt(StmtKind::Assign("s".into(), var(x))),
            ],
        };
        let cond = self.condition();
        let at = self.random.below(body.stmts.len() + 1);
        let mut walk = vec![stmt(StmtKind::If(cond, changed, Body::default()))];
        for _ in 0..1 + self.random.below(2) {
            let place = Place::Element("c".into(), self.index_by(x));
            walk.push(stmt(match self.random.below(2) {
                0 => StmtKind::Read("t".into(), place),
                _ => StmtKind::Write(place, Expr::Int(1)),
            }));
        }
        body.stmts.splice(at..at, walk);
    }

    /// Accesses that an index in an array leads to, which the loop over `x` goes through.
    fn indirect(&mut self, body: &mut Body, x: &str) {
        let indices = self.random.pick(&ARRAYS).into();
        let place = Place::Element(indices, self.index_by(x));
        let mut accesses = vec![stmt(StmtKind::Read("t".into(), place))];
        for _ in 0..1 + self.random.below(2) {
            let c = self.small();
            let place = Place::Element(self.random.pick(&ARRAYS).into(), plus("t", c.min(1)));
            accesses.push(stmt(match self.random.below(2) {
                0 => StmtKind::Read("u".into(), place),
                _ => StmtKind::Write(place, Expr::Int(c)),
            }));
        }
        let at = self.random.below(body.stmts.len() + 1);
        body.stmts.splice(at..at, accesses);
    }

    /// An element that the loop over `x` keeps or replaces by the one it is at; now and then without having accessed that one, or by another one.
    fn chosen(&mut self, out: &mut Vec<Stmt>, body: &mut Body, x: &str) {
        let c = self.small();
        out.push(stmt(StmtKind::Assign("w".into(), Expr::Int(c))));
        let array: String = self.random.pick(&ARRAYS).into();
        let access = |index: Expr, random: &mut Random| {
            let place = Place::Element(array.clone(), index);
            stmt(match random.below(4) {
                0 => StmtKind::Write(place, Expr::Int(1)),
                _ => StmtKind::Read("t".into(), place),
            })
        };
        let other = match self.random.below(6) {
            0 => self.index_by(x),
            1 => self.index(),
            _ => var(x),
        };
        let better = StmtKind::Assign("w".into(), other);
        let then = Body {
            stmts: vec![stmt(better)],
        };
        let cond = self.condition();
        let mut walk = vec![
            access(var(x), self.random),
            access(var("w"), self.random),
            stmt(StmtKind::If(cond, then, Body::default())),
        ];
        if self.random.chance(15) {
            walk.remove(self.random.below(2));
        }
        if self.random.chance(20) {
            walk.rotate_left(1);
        }
        let at = self.random.below(body.stmts.len() + 1);
        body.stmts.splice(at..at, walk);
    }

    fn index_by(&mut self, x: &str) -> Expr {
        match self.random.below(4) {
            0 => Expr::Int(self.small()),
            1 => binary(Op::Mul, Expr::Int(2), var(x)),
            _ => {
                let c = self.small();
                plus(x, c.min(1))
            }
        }
    }

    /// A counted loop over `i`, `j` or `k`, up or down, by one or two, with the test before, behind, or in
    /// the middle; now and then one that counts what it loads.
    fn looped(&mut self, out: &mut Vec<Stmt>, depth: usize, callable: usize) {
        let x = self.random.pick(&["i", "j", "k"]);
        let step = [1, 1, 1, 2, -1][self.random.below(5)];
        let start = if step < 0 {
            self.small()
        } else {
            self.random.below(2) as i64
        };
        if self.random.chance(93) {
            out.push(stmt(StmtKind::Assign(x.into(), Expr::Int(start))));
        }
        let bound = if step < 0 {
            Expr::Int(0)
        } else if self.random.chance(25) {
            var("t")
        } else {
            let n = self.small();
            Expr::Int(n.max(1))
        };
        let mut body = self.block(depth, callable, true);
        if self.random.chance(15) {
            self.rebased(out, &mut body, x);
        }
        if self.random.chance(25) {
            self.indirect(&mut body, x);
        }
        if self.random.chance(15) {
            self.chosen(out, &mut body, x);
        }
        body.stmts
            .push(stmt(StmtKind::Assign(x.into(), plus(x, step))));
        if self.random.chance(20) {
            let more = self.block(1, 0, true);
            body.stmts.extend(more.stmts);
        }
        let (stay, leave) = if step < 0 {
            (Cmp::Ge, Cmp::Lt)
        } else if step == 1 && self.random.chance(8) {
            (Cmp::Ne, Cmp::Eq)
        } else {
            (Cmp::Lt, Cmp::Ge)
        };
        let test = |cmp| BoolExpr {
            left: var(x),
            cmp,
            right: bound.clone(),
        };
        if self.random.chance(60) {
            out.push(stmt(StmtKind::While(test(stay), body)));
        } else {
            let stop = Body {
                stmts: vec![stmt(StmtKind::Break)],
            };
            let check = stmt(StmtKind::If(test(leave), stop, Body::default()));
            let at = self.random.below(body.stmts.len() + 1);
            body.stmts.insert(at, check);
            out.push(stmt(StmtKind::Loop(body)));
        }
    }
}
