//! BFJ to text. `parse(print(s))` gives `s` back, positions aside.

use super::ast::*;
use crate::ir::Kind;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Lines to print before statement `.1` of the `.0`th body (bodies are counted in the order in which
/// they are written; the number of statements means after the last one).
pub type Notes = BTreeMap<(u32, usize), Vec<String>>;

/// The program as text.
pub fn print(source: &Source) -> String {
    print_with(source, &Notes::new())
}

/// The program as text, with `notes` between its statements.
pub fn print_with(source: &Source, notes: &Notes) -> String {
    let mut p = Printer {
        out: String::new(),
        indent: 0,
        body: 0,
        notes,
    };
    for class in &source.classes {
        p.line(&format!("class {} {{", class.name));
        p.indent += 1;
        for f in &class.fields {
            let volatile = if f.volatile { "volatile " } else { "" };
            p.line(&format!("{volatile}{};", f.name));
        }
        for m in &class.methods {
            p.line(&format!("method {}({}) {{", m.name, m.params.join(", ")));
            p.body(&m.body);
            p.line("}");
        }
        p.indent -= 1;
        p.line("}");
    }
    for s in &source.shared {
        p.line(&format!("shared {} = {};", s.name, alloc(&s.what)));
    }
    for t in &source.threads {
        p.line("thread {");
        p.body(t);
        p.line("}");
    }
    p.out
}

struct Printer<'a> {
    out: String,
    indent: usize,
    body: u32,
    notes: &'a Notes,
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.out, "{:1$}{text}", "", self.indent * 4);
    }

    fn notes(&mut self, body: u32, index: usize) {
        let notes = self.notes;
        for note in notes.get(&(body, index)).into_iter().flatten() {
            self.line(note);
        }
    }

    fn body(&mut self, body: &Body) {
        let id = self.body;
        self.body += 1;
        self.indent += 1;
        for (i, s) in body.stmts.iter().enumerate() {
            self.notes(id, i);
            self.stmt(&s.kind);
        }
        self.notes(id, body.stmts.len());
        self.indent -= 1;
    }

    fn stmt(&mut self, s: &StmtKind) {
        match s {
            StmtKind::If(c, then, otherwise) => {
                self.line(&format!("if ({}) {{", condition(c)));
                self.body(then);
                let empty = otherwise.stmts.is_empty() && !self.notes.contains_key(&(self.body, 0));
                if empty {
                    self.body += 1;
                } else {
                    self.line("} else {");
                    self.body(otherwise);
                }
                self.line("}");
            }
            StmtKind::While(c, body) => {
                self.line(&format!("while ({}) {{", condition(c)));
                self.body(body);
                self.line("}");
            }
            StmtKind::Loop(body) => {
                self.line("loop {");
                self.body(body);
                self.line("}");
            }
            StmtKind::Try(tried, caught) => {
                self.line("try {");
                self.body(tried);
                self.line("} catch {");
                self.body(caught);
                self.line("}");
            }
            simple => {
                let text = statement(simple);
                self.line(&text);
            }
        }
    }
}

fn statement(s: &StmtKind) -> String {
    match s {
        StmtKind::Skip => "skip;".into(),
        StmtKind::Assign(x, e) => format!("{x} = {};", expr(e)),
        StmtKind::Rename(x, y) => format!("{x} <- {y};"),
        StmtKind::New(x, what) => format!("{x} = {};", alloc(what)),
        StmtKind::Read(x, p) => format!("{x} = {};", place(p)),
        StmtKind::Write(p, e) => format!("{} = {};", place(p), expr(e)),
        StmtKind::Acquire(x) => format!("acq({x});"),
        StmtKind::Release(x) => format!("rel({x});"),
        StmtKind::Call(None, c) => format!("{};", call(c)),
        StmtKind::Call(Some(x), c) => format!("{x} = {};", call(c)),
        StmtKind::Fork(x, c) => format!("{x} = fork {};", call(c)),
        StmtKind::Join(x) => format!("join({x});"),
        StmtKind::Break => "break;".into(),
        StmtKind::Return(e) => format!("return {};", expr(e)),
        StmtKind::Throw => "throw;".into(),
        StmtKind::Check(c) => format!("check({});", checks(c)),
        StmtKind::Commit(c) => format!("commit({});", checks(c)),
        StmtKind::Gather(list, c) => {
            format!("gather({list}, {});", checks(std::slice::from_ref(c)))
        }
        StmtKind::Gathered(list) => format!("gathered({list});"),
        StmtKind::If(..) | StmtKind::While(..) | StmtKind::Loop(..) | StmtKind::Try(..) => {
            String::new()
        }
    }
}

fn alloc(a: &Alloc) -> String {
    match a {
        Alloc::Object(c) => format!("new {c}"),
        Alloc::Array(e) => format!("new_array {}", expr(e)),
    }
}

fn place(p: &Place) -> String {
    match p {
        Place::Field(x, f) => format!("{x}.{f}"),
        Place::Element(x, e) => format!("{x}[{}]", expr(e)),
    }
}

fn call(c: &CallExpr) -> String {
    let args: Vec<String> = c.args.iter().map(expr).collect();
    format!("{}.{}({})", c.receiver, c.method, args.join(", "))
}

fn checks(cs: &[CheckExpr]) -> String {
    let texts: Vec<String> = cs
        .iter()
        .map(|c| {
            let kind = match c.kind {
                Kind::Read => "read",
                Kind::Write => "write",
            };
            let path = match &c.path {
                CheckPath::Fields(x, fs) => format!("{kind} {x}.{}", fs.join("/")),
                CheckPath::Element(x, e) => format!("{kind} {x}[{}]", expr(e)),
                CheckPath::Range(x, lo, hi, 1) => format!("{kind} {x}[{}..{}]", expr(lo), expr(hi)),
                CheckPath::Range(x, lo, hi, k) => {
                    format!("{kind} {x}[{}..{}:{k}]", expr(lo), expr(hi))
                }
            };
            match &c.when {
                Some(e) => format!("{path} when {}", expr(e)),
                None => path,
            }
        })
        .collect();
    texts.join(", ")
}

fn condition(c: &BoolExpr) -> String {
    let cmp = match c.cmp {
        Cmp::Eq => "==",
        Cmp::Ne => "!=",
        Cmp::Lt => "<",
        Cmp::Le => "<=",
        Cmp::Gt => ">",
        Cmp::Ge => ">=",
    };
    format!("{} {cmp} {}", expr(&c.left), expr(&c.right))
}

pub(super) fn expr(e: &Expr) -> String {
    match e {
        Expr::Int(i) => i.to_string(),
        Expr::Var(x) => x.clone(),
        Expr::Binary(op, l, r) => {
            let (symbol, strong) = match op {
                Op::Add => ("+", false),
                Op::Sub => ("-", false),
                Op::Mul => ("*", true),
                Op::Div => ("/", true),
                Op::Rem => ("%", true),
            };
            let weak = |e: &Expr| matches!(e, Expr::Binary(Op::Add | Op::Sub, ..));
            let left = if strong && weak(l) {
                format!("({})", expr(l))
            } else {
                expr(l)
            };
            // Operators associate to the left: what is nested to the right needs its parentheses.
            let right = if matches!(**r, Expr::Binary(..)) && (strong || weak(r)) {
                format!("({})", expr(r))
            } else {
                expr(r)
            };
            format!("{left} {symbol} {right}")
        }
    }
}
