//! Alias facts (section 5 of the paper): `x = y.f` is remembered after a load or store, so that a second
//! load of the same path is known to yield the same value.
//!
//! A fact ends with a write that may hit its path, and with everything after which another thread's
//! write could be seen without a race: acquires and calls that acquire or write. A *racy* write may break a
//! fact that is in use: then the checks of this run may miss or misname other racy addresses, but the
//! race on the aliased path itself is found. That is why this pass is optional.

use crate::analysis::Analysis;
use crate::ir::{BlockId, Instr, Kind, Path, Shape, Terminator, Var};

type Known = Vec<(Path, Var)>;

/// Loads that yield what an earlier variable holds: (second, first).
pub(crate) fn find(a: &Analysis<'_>, found: &mut Vec<(Var, Var)>) -> bool {
    let mut ends: Vec<Option<Known>> = vec![None; a.f.blocks.len()];
    let mut starts: Vec<Known> = vec![Known::new(); a.f.blocks.len()];
    loop {
        let mut changed = false;
        for &b in &a.cfg.order {
            let mut state = meet(a, b, &ends);
            starts[b.index()].clone_from(&state);
            let block = &a.f.blocks[b.index()];
            for i in &block.instrs {
                transfer(a, i, &mut state, &mut |_, _| {});
            }
            if matches!(block.term, Terminator::Invoke { .. }) {
                state.clear();
            }
            if ends[b.index()].as_ref() != Some(&state) {
                ends[b.index()] = Some(state);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let before = found.len();
    for &b in &a.cfg.order {
        let mut state = starts[b.index()].clone();
        for i in &a.f.blocks[b.index()].instrs {
            transfer(a, i, &mut state, &mut |y, x| {
                if !found.iter().any(|(z, _)| *z == y) {
                    found.push((y, x));
                }
            });
        }
    }
    found.len() > before
}

/// What all predecessors seen so far know, as far as it can be spoken of here.
fn meet(a: &Analysis<'_>, b: BlockId, ends: &[Option<Known>]) -> Known {
    let mut known = a.cfg.preds[b.index()]
        .iter()
        .filter_map(|p| Some((*p, ends[p.index()].as_ref()?)));
    let Some((first, facts)) = known.next() else {
        return Known::new();
    };
    let stays = |p: BlockId, (path, x): &(Path, Var)| {
        let back = a.cfg.is_back_edge(p, b);
        let header = a.cfg.loop_of_header[b.index()];
        path.vars().chain(Some(*x)).all(|v| {
            let redefined = back
                && header.is_some_and(|l| {
                    let def = a.cfg.def_block(v);
                    def.is_some_and(|d| a.cfg.loops[l].contains[d.index()])
                });
            a.cfg.in_scope_at(v, b) && !redefined
        })
    };
    let mut out: Known = facts.iter().filter(|f| stays(first, f)).cloned().collect();
    for (p, facts) in known {
        out.retain(|f| stays(p, f) && facts.contains(f));
    }
    out
}

fn transfer(a: &Analysis<'_>, i: &Instr, state: &mut Known, same: &mut impl FnMut(Var, Var)) {
    let e = a.effects_of(i);
    if e.acquires || e.writes || e.frees || e.unwinds {
        state.clear();
    }
    let Instr::Access {
        id,
        kind,
        dst,
        value,
        ..
    } = i
    else {
        return;
    };
    let Some(fact) = a.fact(*id) else {
        state.clear();
        return;
    };
    let path = &fact.path;
    match kind {
        Kind::Read => {
            let Some(y) = *dst else {
                return;
            };
            match state.iter().find(|f| f.0 == *path) {
                Some((_, x)) => same(y, *x),
                None => state.push((path.clone(), y)),
            }
        }
        Kind::Write => {
            state.retain(|f| !may_alias(&f.0, path));
            if let Some(x) = value
                .as_ref()
                .and_then(|v| a.values.resolve(v))
                .and_then(|v| v.as_var())
            {
                state.push((path.clone(), x));
            }
        }
    }
}

/// Fields at different offsets, and a field and an element, are different memory: references are
/// only ever made by `new`, loads and copies. (A producer for which that is not so turns alias facts
/// off.)
fn may_alias(p: &Path, q: &Path) -> bool {
    match (p.shape, q.shape) {
        (Shape::Field, Shape::Field) => p.lo.constant() == q.lo.constant(),
        (Shape::Element, Shape::Element) => true,
        _ => false,
    }
}
