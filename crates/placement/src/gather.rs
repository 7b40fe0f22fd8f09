//! Gathers and scatters: the checks of `a[b[i]]`, which are no range and stay in their loop, become a list of addresses
//! ([`Gather`]), with one check for the list where the loop is left, or when it is full.
//!
//! # Contract
//!
//! A check moves from its point to the loop's exits (or to a later entry that fills the list). Between the two nothing acquires, releases, frees, unwinds or stays
//! away for ever: the loop is *quiet*, and a list waits for no loop that may not end and does not fill it. So whichever access the check covered or was legitimate for, it still is: an access before the check has one behind it with nothing in
//! between that was not there before, an access that the check was ahead of either still is behind it, or is in the loop, and then nothing is
//! between them at all.
//!
//! What is put on the list is the address, not where its index came from. That other threads may write to the array of indices, or the loop itself, changes nothing about what was
//! accessed: reading the indices again behind the loop would name other bytes then.
//!
//! Which checks are worth it is a guess: those whose address has an index that the loop read from where it goes along. Such loops are long, and what they
//! access is in no order.

use crate::analysis::Analysis;
use crate::ir::{
    AccessId, BlockId, Check, Extent, Gather, Instr, Kind, ListId, Point, Shape, Terminator, Var,
};
use crate::lin::Lin;
use crate::placement::Placement;
use std::collections::BTreeMap;

/// Lists of a function: each is memory on its stack.
const MAX_LISTS: u32 = 4;

/// Bytes of a location that is worth a list.
const MAX_SIZE: u32 = 8;

/// Puts checks of a finished placement on lists.
pub(crate) fn gather(a: &Analysis<'_>, out: &mut Placement) {
    let quiet: Vec<bool> = (0..a.cfg.loops.len()).map(|l| is_quiet(a, l)).collect();
    if !quiet.contains(&true) {
        return;
    }
    let loaded = Loaded::new(a);
    let (mut lists, mut next) = (0, 0);
    for (point, checks) in &mut out.checks {
        let holds = |l: &usize| quiet[*l] && contains(a, *l, point.block);
        let Some(of_loop) = (0..quiet.len()).find(|l| holds(l) && is_prompt(a, *l, point.block))
        else {
            continue;
        };
        let listed: Vec<Check> = checks
            .extract_if(.., |check| {
                let wanted = lists < MAX_LISTS && is_indirect(a, &loaded, *point, check);
                lists += u32::from(wanted);
                wanted
            })
            .collect();
        for check in listed {
            let list = ListId(next);
            next += 1;
            for exit in exits(a, of_loop) {
                let point = Point {
                    block: exit,
                    index: 0,
                };
                out.gathered.entry(point).or_default().insert(list);
            }
            let gathers = out.gathers.entry(*point).or_default();
            gathers.push(Gather { list, check });
        }
    }
    out.checks.retain(|_, checks| !checks.is_empty());
}

fn contains(a: &Analysis<'_>, l: usize, b: BlockId) -> bool {
    a.cfg.loops[l].contains[b.index()]
}

/// The blocks behind the loop, each with one way in: from it.
fn exits(a: &Analysis<'_>, l: usize) -> impl Iterator<Item = BlockId> {
    let inside = a.cfg.order.iter().filter(move |b| contains(a, l, **b));
    inside
        .flat_map(|b| &a.cfg.succs[b.index()])
        .copied()
        .filter(move |s| !contains(a, l, *s))
}

/// Is a list of loop `l` that gets an entry in block `at` checked sooner or later? It is if the loops in it end. One that may not end has to fill the list itself: with an entry in each
/// of its rounds, none of which takes long.
fn is_prompt(a: &Analysis<'_>, l: usize, at: BlockId) -> bool {
    let mut inner = (0..a.cfg.loops.len()).filter(|i| contains(a, l, a.cfg.loops[*i].header));
    inner.all(|i| {
        let mut latches = a.cfg.loops[i].latches.iter();
        !a.endless[i]
            || contains(a, i, at) && !a.calls(i) && latches.all(|latch| a.cfg.dominates(at, *latch))
    })
}

/// Is there nothing in loop `l` that a check may not cross, and are there places for checks wherever it is left?
pub(crate) fn is_quiet(a: &Analysis<'_>, l: usize) -> bool {
    let mut inside = a.cfg.order.iter().filter(|b| contains(a, l, **b));
    inside.all(|b| {
        let block = &a.f.blocks[b.index()];
        !matches!(block.term, Terminator::Invoke { .. })
            && !a.terminator_kills(&block.term).any()
            && !block.instrs.iter().any(|i| a.kills(i).any())
    }) && exits(a, l).all(|exit| a.cfg.preds[exit.index()].len() == 1)
}

/// Where indices come from.
struct Loaded {
    /// The variables that hold what a read of one location found.
    reads: BTreeMap<Var, AccessId>,
    /// What others were computed from.
    computed: BTreeMap<Var, Vec<Lin>>,
}

impl Loaded {
    fn new(a: &Analysis<'_>) -> Loaded {
        let mut this = Loaded {
            reads: BTreeMap::new(),
            computed: BTreeMap::new(),
        };
        for i in a
            .cfg
            .order
            .iter()
            .flat_map(|b| &a.f.blocks[b.index()].instrs)
        {
            match i {
                Instr::Access {
                    id,
                    kind: Kind::Read,
                    dst: Some(dst),
                    ..
                } => {
                    this.reads.insert(*dst, *id);
                }
                Instr::Opaque { dst, args, .. } if !args.is_empty() => {
                    let args = args.iter().filter_map(|e| a.values.resolve(e));
                    this.computed.insert(*dst, args.collect());
                }
                _ => {}
            }
        }
        this
    }

    /// The variables that `x` was computed from, if not as a sum.
    fn from(&self, x: Var) -> impl Iterator<Item = Var> {
        self.computed
            .get(&x)
            .into_iter()
            .flatten()
            .flat_map(Lin::vars)
    }
}

/// Is it a check of one location, with an index that was read from where the innermost loop goes along?
fn is_indirect(a: &Analysis<'_>, loaded: &Loaded, point: Point, check: &Check) -> bool {
    let ([path], Some(inner)) = (
        &check.paths[..],
        (0..a.cfg.loops.len()).rfind(|l| contains(a, *l, point.block)),
    ) else {
        return false;
    };
    let moves = |id: &AccessId| {
        let rounds = a.values.ghost(inner);
        a.fact(*id)
            .is_some_and(|fact| fact.lo().coefficient(rounds) != 0)
    };
    let is_read = |x: Var| {
        a.cfg.def_block(x).is_some_and(|b| contains(a, inner, b))
            && loaded.reads.get(&x).is_some_and(moves)
    };
    let is_index = |x: Var| is_read(x) || loaded.from(x).any(is_read);
    path.extent == Extent::One
        && path.shape == Shape::Element
        && path.size <= MAX_SIZE
        && a.values
            .resolve(&path.lo)
            .is_some_and(|lo| lo.vars().any(is_index))
}
