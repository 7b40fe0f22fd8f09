//! What lowering needs to know of a program beforehand: what its names mean, its loops in one shape,
//! which locals a body assigns.

use super::Error;
use super::ast::*;
use super::lower::WORD;
use crate::ir::FuncId;
use std::collections::{BTreeMap, BTreeSet};

/// What the names of a program mean.
pub(super) struct Names {
    pub(super) fields: Vec<String>,
    pub(super) volatile: BTreeMap<String, bool>,
    /// Object sizes.
    pub(super) classes: BTreeMap<String, i64>,
    pub(super) methods: BTreeMap<String, (FuncId, usize)>,
}

impl Names {
    pub(super) fn collect(source: &Source) -> Result<Names, Error> {
        let mut names = Names {
            fields: Vec::new(),
            volatile: BTreeMap::new(),
            classes: BTreeMap::new(),
            methods: BTreeMap::new(),
        };
        let twice = |pos, what: &str, name: &str| Error {
            pos,
            message: format!("{what} `{name}` is declared twice; give one another name"),
        };
        for c in &source.classes {
            let mut last = 0;
            for f in &c.fields {
                let index = names.field_index(&f.name).unwrap_or_else(|| {
                    names.fields.push(f.name.clone());
                    names.fields.len() - 1
                });
                if names
                    .volatile
                    .insert(f.name.clone(), f.volatile)
                    .is_some_and(|v| v != f.volatile)
                {
                    return Err(Error {
                        pos: f.pos,
                        message: format!("field `{}` is volatile in one class only", f.name),
                    });
                }
                last = last.max(index + 1);
            }
            let size = i64::try_from(last.max(1)).unwrap_or(i64::MAX / WORD) * WORD;
            if names.classes.insert(c.name.clone(), size).is_some() {
                return Err(twice(c.pos, "class", &c.name));
            }
            for m in &c.methods {
                let id = FuncId(u32::try_from(names.methods.len()).unwrap_or(u32::MAX));
                let known = names
                    .methods
                    .insert(m.name.clone(), (id, m.params.len()))
                    .is_some();
                if known {
                    return Err(twice(m.pos, "method", &m.name));
                }
            }
        }
        Ok(names)
    }

    pub(super) fn field_index(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|f| f == name)
    }

    pub(super) fn object_size(&self, class: &str, pos: Pos) -> Result<i64, Error> {
        self.classes.get(class).copied().ok_or_else(|| Error {
            pos,
            message: format!("there is no class `{class}`; declare it with `class {class} {{ }}`"),
        })
    }
}

/// `while (c) s` → `if (c) { loop { s; if (not c) break; } }`, everywhere.
pub(super) fn guarded(body: &Body) -> Body {
    let stmts = body
        .stmts
        .iter()
        .map(|s| {
            let kind = match &s.kind {
                StmtKind::While(c, b) => {
                    let mut inner = guarded(b);
                    let stop = Stmt {
                        kind: StmtKind::Break,
                        pos: s.pos,
                    };
                    inner.stmts.push(Stmt {
                        kind: StmtKind::If(negated(c), Body { stmts: vec![stop] }, Body::default()),
                        pos: s.pos,
                    });
                    let stmts = vec![Stmt {
                        kind: StmtKind::Loop(inner),
                        pos: s.pos,
                    }];
                    StmtKind::If(c.clone(), Body { stmts }, Body::default())
                }
                StmtKind::If(c, t, e) => StmtKind::If(c.clone(), guarded(t), guarded(e)),
                StmtKind::Loop(b) => StmtKind::Loop(guarded(b)),
                StmtKind::Try(t, c) => StmtKind::Try(guarded(t), guarded(c)),
                other => other.clone(),
            };
            Stmt { kind, pos: s.pos }
        })
        .collect();
    Body { stmts }
}

fn negated(c: &BoolExpr) -> BoolExpr {
    BoolExpr {
        left: c.left.clone(),
        cmp: match c.cmp {
            Cmp::Eq => Cmp::Ne,
            Cmp::Ne => Cmp::Eq,
            Cmp::Lt => Cmp::Ge,
            Cmp::Le => Cmp::Gt,
            Cmp::Gt => Cmp::Le,
            Cmp::Ge => Cmp::Lt,
        },
        right: c.right.clone(),
    }
}

pub(super) fn names_assigned(body: &Body, out: &mut BTreeSet<String>) {
    for s in &body.stmts {
        match &s.kind {
            StmtKind::Assign(x, _)
            | StmtKind::Rename(x, _)
            | StmtKind::New(x, _)
            | StmtKind::Read(x, _)
            | StmtKind::Call(Some(x), _)
            | StmtKind::Fork(x, _) => {
                out.insert(x.clone());
            }
            StmtKind::If(_, a, b) | StmtKind::Try(a, b) => {
                names_assigned(a, out);
                names_assigned(b, out);
            }
            StmtKind::While(_, b) | StmtKind::Loop(b) => names_assigned(b, out),
            _ => {}
        }
    }
}
