//! Kill sets: what each function of a program may do, over its call graph.
//!
//! A function that may loop for ever counts as one that may not return: an access pending in its
//! caller would wait for a check that never comes. Endless recursion is not considered: it ends in a
//! crash, and a crash loses pending checks wherever it happens.

use crate::cfg::Cfg;
use crate::conditions::Conditions;
use crate::ir::{
    BlockId, Call, Callee, Cond, Effects, Extent, Function, Instr, Kind, Program, Terminator,
};
use crate::lin::Lin;
use crate::values::Values;

/// The effects of each function: the least solution over the call graph.
pub fn effects(program: &Program) -> Vec<Effects> {
    let mut own: Vec<Effects> = Vec::new();
    let mut callees: Vec<Vec<(usize, bool)>> = Vec::new();
    for f in &program.funcs {
        let (e, c) = direct(f);
        own.push(e);
        callees.push(c);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for f in 0..own.len() {
            for &(callee, handled) in &callees[f] {
                let mut e = own.get(callee).copied().unwrap_or(Effects::UNKNOWN);
                e.unwinds &= !handled;
                let new = own[f].or(e);
                changed |= new != own[f];
                own[f] = new;
            }
        }
    }
    own
}

/// The effects of a call, given those of all functions.
pub(crate) fn of_call(call: &Call, effects: &[Effects]) -> Effects {
    match call.callee {
        Callee::Known(f) => effects.get(f.index()).copied().unwrap_or(Effects::UNKNOWN),
        Callee::External(e) => e,
    }
}

/// What a function does itself, and whom it calls (`true`: exceptions are handled).
fn direct(f: &Function) -> (Effects, Vec<(usize, bool)>) {
    let cfg = Cfg::new(f);
    let mut own = Effects::NONE;
    let mut callees = Vec::new();
    let mut call = |c: &Call, handled: bool, own: &mut Effects| match c.callee {
        Callee::Known(g) => callees.push((g.index(), handled)),
        Callee::External(mut e) => {
            e.unwinds &= !handled;
            *own = own.or(e);
        }
    };
    for b in &cfg.order {
        let block = &f.blocks[b.index()];
        for i in &block.instrs {
            match i {
                Instr::Sync(s) => own = own.or(s.effects()),
                Instr::Call(c) => call(c, false, &mut own),
                Instr::Access { kind, .. } => own.writes |= *kind == Kind::Write,
                _ => {}
            }
        }
        match &block.term {
            Terminator::Invoke { call: c, .. } => call(c, true, &mut own),
            Terminator::Unwind => own.unwinds = true,
            Terminator::Stop => own.leaves = true,
            _ => {}
        }
    }
    if !cfg.is_reducible() {
        own.leaves = true;
    } else if !cfg.loops.is_empty() {
        let values = Values::new(f, &cfg, &[]);
        let conditions = Conditions::new(f, &cfg, &values);
        own.leaves |= cfg
            .loops
            .iter()
            .enumerate()
            .any(|(l, _)| may_be_endless(f, &cfg, &values, &conditions, l));
    }
    (own, callees)
}

/// Is there no test, made in every round, that sooner or later ends loop `l`, and no end of memory either?
pub(crate) fn may_be_endless(
    f: &Function,
    cfg: &Cfg,
    values: &Values,
    conditions: &Conditions,
    l: usize,
) -> bool {
    let this = &cfg.loops[l];
    if walks(f, cfg, values, l, true) {
        return false;
    }
    !cfg.order
        .iter()
        .filter(|b| this.contains[b.index()])
        .filter(|b| this.latches.iter().all(|latch| cfg.dominates(**b, *latch)))
        .any(|b| match &f.blocks[b.index()].term {
            Terminator::Branch {
                cond,
                then,
                otherwise,
            } => {
                let stay = match (
                    this.contains[then.index()],
                    this.contains[otherwise.index()],
                ) {
                    (true, false) => Some(cond.clone()),
                    (false, true) => cond.negated(),
                    _ => None,
                };
                stay.is_some_and(|c| runs_out(f, cfg, values, conditions, l, &c))
            }
            _ => false,
        })
}

/// Does `stay` become false after finitely many rounds?
fn runs_out(
    f: &Function,
    cfg: &Cfg,
    values: &Values,
    conditions: &Conditions,
    l: usize,
    stay: &Cond,
) -> bool {
    let Some(e) = values.expand(stay.lin()) else {
        return false;
    };
    let k = e.coefficient(values.ghost(l));
    is_steady(cfg, values, l, &e)
        && match stay {
            Cond::NonNegative(_) => k < 0,
            Cond::Zero(_) => k != 0,
            Cond::NonZero(_) => {
                k != 0
                    && (meets_zero(cfg, values, conditions, l, &e)
                        || walks(f, cfg, values, l, false))
            }
        }
}

/// Does everything in `e` but the round counter stay as it is while loop `l` runs?
fn is_steady(cfg: &Cfg, values: &Values, l: usize, e: &Lin) -> bool {
    let this = &cfg.loops[l];
    let rounds = values.ghost(l);
    e.vars().filter(|x| *x != rounds).all(|x| {
        if values.is_ghost(x) {
            let of = (0..cfg.loops.len()).find(|i| values.ghost(*i) == x);
            return of.is_some_and(|i| !this.contains[cfg.loops[i].header.index()]);
        }
        cfg.def_block(x).is_some_and(|b| !this.contains[b.index()])
    })
}

/// Does `e`, which moves by a fixed step each round, begin on the right side of 0 and hit it?
fn meets_zero(cfg: &Cfg, values: &Values, conditions: &Conditions, l: usize, e: &Lin) -> bool {
    let this = &cfg.loops[l];
    let rounds = values.ghost(l);
    let k = e.coefficient(rounds);
    let first = e
        .substitute(rounds, &Lin::from(0))
        .and_then(|e| if k < 0 { Some(e) } else { e.scaled(-1) });
    let Some(first) = first else {
        return false;
    };
    first.divisible_by(k)
        && cfg.preds[this.header.index()]
            .iter()
            .filter(|p| !this.latches.contains(p))
            .all(|p| conditions.solver(values, *p).nonnegative(&first))
}

/// Does every round access memory further on? Then the loop ends, well or in a crash: no memory is
/// large enough to walk through for ever. With `steady`, all accesses are known to be in one line.
fn walks(f: &Function, cfg: &Cfg, values: &Values, l: usize, steady: bool) -> bool {
    let this = &cfg.loops[l];
    let rounds = values.ghost(l);
    let every_round = |b: &&BlockId| {
        this.contains[b.index()] && this.latches.iter().all(|latch| cfg.dominates(**b, *latch))
    };
    cfg.order.iter().filter(every_round).any(|b| {
        f.blocks[b.index()].instrs.iter().any(|i| match i {
            Instr::Access { path, .. } if path.extent == Extent::One => {
                values.expand(&path.lo).is_some_and(|lo| {
                    lo.coefficient(rounds) != 0 && (!steady || is_steady(cfg, values, l, &lo))
                })
            }
            _ => false,
        })
    })
}
