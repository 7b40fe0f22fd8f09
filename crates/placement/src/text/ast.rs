//! BFJ as written. See the module above for the grammar.

use crate::ir::Kind;

/// Where something stands in the text; both count from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pos {
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

/// A whole program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Source {
    /// Classes.
    pub classes: Vec<Class>,
    /// Objects that exist from the start and that every initial thread knows by name.
    pub shared: Vec<Shared>,
    /// Bodies of the initial threads.
    pub threads: Vec<Body>,
}

/// `class c { … }`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Its fields.
    pub fields: Vec<Field>,
    /// Its methods.
    pub methods: Vec<Method>,
    /// Where it begins.
    pub pos: Pos,
}

/// A field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Accesses synchronise instead of racing.
    pub volatile: bool,
    /// Where.
    pub pos: Pos,
}

/// `method m(x) { … }`; `this` is known inside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Method {
    /// Its name, unique in the program.
    pub name: String,
    /// Parameters besides `this`.
    pub params: Vec<String>,
    /// What it does.
    pub body: Body,
    /// Where it begins.
    pub pos: Pos,
}

/// `shared x = new c;`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shared {
    /// Its name.
    pub name: String,
    /// What it is.
    pub what: Alloc,
    /// Where.
    pub pos: Pos,
}

/// What `new` makes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Alloc {
    /// `new c`
    Object(String),
    /// `new_array e`
    Array(Expr),
}

/// Statements in braces.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Body {
    /// In order.
    pub stmts: Vec<Stmt>,
}

/// A statement and where it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where.
    pub pos: Pos,
}

/// `y.f` or `y[e]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// `y.f`
    Field(String, String),
    /// `y[e]`
    Element(String, Expr),
}

/// `y.m(e, …)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallExpr {
    /// `y`
    pub receiver: String,
    /// `m`
    pub method: String,
    /// The arguments.
    pub args: Vec<Expr>,
}

/// A statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StmtKind {
    /// `skip;`
    Skip,
    /// `x = e;`
    Assign(String, Expr),
    /// `x <- y;`
    Rename(String, String),
    /// `x = new c;`
    New(String, Alloc),
    /// `x = y.f;`
    Read(String, Place),
    /// `y.f = e;`
    Write(Place, Expr),
    /// `acq(x);`
    Acquire(String),
    /// `rel(x);`
    Release(String),
    /// `x = y.m(e);`, the result may be ignored.
    Call(Option<String>, CallExpr),
    /// `x = fork y.m(e);`
    Fork(String, CallExpr),
    /// `join(x);`
    Join(String),
    /// `if (be) { } else { }`
    If(BoolExpr, Body, Body),
    /// `while (be) { }`
    While(BoolExpr, Body),
    /// `loop { }`, left by `break;`
    Loop(Body),
    /// `break;`
    Break,
    /// `return e;`
    Return(Expr),
    /// `throw;`
    Throw,
    /// `try { } catch { }`
    Try(Body, Body),
    /// `check(read x.f/g when e, write a[lo..hi:k]);`
    Check(Vec<CheckExpr>),
    /// `commit(…);`: a check made now and then.
    Commit(Vec<CheckExpr>),
    /// `gather(0, read a[e]);`: a check that is put off, on a list with that number.
    Gather(u32, CheckExpr),
    /// `gathered(0);`: the checks of a list.
    Gathered(u32),
}

/// A path of a `check`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckExpr {
    /// Read or write.
    pub kind: Kind,
    /// The path.
    pub path: CheckPath,
    /// `… when e`, of fields and elements: only if `e` is positive.
    pub when: Option<Expr>,
}

/// What a check names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CheckPath {
    /// `x.f/g/h`
    Fields(String, Vec<String>),
    /// `a[e]`
    Element(String, Expr),
    /// `a[e..e:k]`
    Range(String, Expr, Expr, i64),
}

/// An expression without side effects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expr {
    /// `7`, and `null`, which is 0.
    Int(i64),
    /// `x`
    Var(String),
    /// `e + e`
    Binary(Op, Box<Expr>, Box<Expr>),
}

/// Arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

/// A comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BoolExpr {
    /// Left.
    pub left: Expr,
    /// How.
    pub cmp: Cmp,
    /// Right.
    pub right: Expr,
}

/// How two integers compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}
