//! Check placement for one function: the rules of Figure 7 put together.
//!
//! | rule | where |
//! |---|---|
//! | [ASSIGN], [RENAME] | `values`: definitions are resolved, merges rename on edges |
//! | [NEW], [READ], [WRITE] | `history` forwards, `anticipate` backwards |
//! | [IF], [LOOP]: `⊓`, `Hinv`, `Ainv` | `history::meet`, `anticipate`, `conditions` |
//! | [ACQ], [REL], [CALL], [STMT]: `Checks(H, A)` | here, [`Placer::block`] |
//! | [IF], [LOOP]: `Checks(H, H', A)` on edges | here, [`Placer::edge`] |
//!
//! Deviations, each one on the safe side: a call that may not come back (exit, endless loop, an exception
//! without a handler here) is a deadline for pending checks like an acquire; a loop that may not end commits
//! pending checks at its back edge every now and then, and promises nothing to what came before it.

use crate::alias;
use crate::analysis::Analysis;
use crate::anticipate::Anticipated;
use crate::cfg::Cfg;
use crate::choices;
use crate::coalesce::{coalesce, compact};
use crate::cover::{Fact, cover, insert};
use crate::gather;
use crate::history::{History, solve, start_of};
use crate::ir::{
    AccessId, BlockId, Check, Effects, Extent, Function, Instr, Kind, Path, Point, Shape,
};
use crate::placement::{Context, Fate, Placement};
use crate::proxy::ProxyUse;
use crate::values::Values;
use std::collections::{BTreeMap, BTreeSet};

/// How far RedCard looks for a write after a read.
const SOON: usize = 64;

/// Which checks are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// One at each access.
    All,
    /// At each access, unless an earlier one in the same release-free span makes it redundant, or a write that follows at once.
    RedCard,
    /// Deferred, merged and coalesced.
    #[default]
    BigFoot,
}

/// How to place checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Which checks are made.
    pub mode: Mode,
    /// Use alias facts. Trace-precise, not address-precise: see docs/soundness.md.
    pub alias_facts: bool,
    /// Use field proxies; [`ProxyUse::OneWay`] is trace-precise, not address-precise.
    pub proxies: ProxyUse,
    /// Believe, as the paper does, that every loop ends.
    pub loops_end: bool,
    /// Check an access in its own block, with others that stay there, if its deferred check would be several, one on each of many ways out of the same
    /// loop or of none. The paper does not.
    pub copies_stay: bool,
    /// Where ways meet, check an element of an array before they do, if a range of the array is checked on one of them: that may have
    /// the element, as only the program knows. The paper does not.
    pub elements_with_ranges: bool,
    /// Put checks of what an index in memory leads to on lists, see [`crate::ir::Gather`]. The paper does not.
    pub gathers: bool,
    /// Take an element that a loop chooses for the one that it began with, where the others are accessed besides. The paper does not.
    pub choices: bool,
    /// Keep the contexts.
    pub contexts: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            mode: Mode::BigFoot,
            alias_facts: false,
            proxies: ProxyUse::Never,
            loops_end: false,
            copies_stay: false,
            elements_with_ranges: false,
            gathers: false,
            choices: false,
            contexts: false,
        }
    }
}

/// Places checks in one function, given the effects of all functions of its program.
pub fn place(f: &Function, effects: &[Effects], options: Options) -> Placement {
    let cfg = Cfg::new(f);
    if options.mode == Mode::All || has_critical_edge(f, &cfg) {
        return everywhere(f, &cfg, options.mode != Mode::All);
    }
    let settled = (options.choices && options.mode == Mode::BigFoot)
        .then(|| choices::settled(f, &cfg, effects, options.loops_end))
        .flatten();
    let (f, settled) = settled.as_ref().map_or((f, 0), |(f, count)| (f, *count));
    let mut aliases = Vec::new();
    let mut values = Values::new(f, &cfg, &aliases);
    let mut a = Analysis::new(f, cfg.clone(), values, effects, options.loops_end);
    if options.alias_facts {
        // Each round may make more paths equal; stopping early loses nothing but checks saved.
        for _ in 0..3 {
            if !alias::find(&a, &mut aliases) {
                break;
            }
            values = Values::new(f, &cfg, &aliases);
            a = Analysis::new(f, cfg.clone(), values, effects, options.loops_end);
        }
    }
    let history = History::new(&a);
    let anticipated = if options.mode == Mode::BigFoot {
        Anticipated::new(&a)
    } else {
        Anticipated::nothing(&a)
    };
    let mut placer = Placer {
        a: &a,
        history: &history,
        anticipated: &anticipated,
        contexts: options.contexts,
        stays: BTreeSet::new(),
        with_ranges: BTreeMap::new(),
        out: Placement::default(),
        why: BTreeMap::new(),
        covered: Vec::new(),
    };
    if options.mode == Mode::RedCard {
        placer.redcard();
    } else {
        placer.bigfoot();
        if options.copies_stay {
            placer.stays = placer.copied();
        }
        if options.elements_with_ranges {
            placer.with_ranges = placer.beside_ranges();
        }
        if !placer.stays.is_empty() || !placer.with_ranges.is_empty() {
            placer.bigfoot();
        }
    }
    let mut out = placer.out;
    if options.gathers && options.mode == Mode::BigFoot {
        gather::gather(&a, &mut out);
    }
    for id in &placer.stays {
        out.fates[id.index()].stayed = true;
    }
    out.counts.settled = settled;
    out.counts.stayed = placer.stays.len() as u64;
    out.counts.immediate = history.immediate.len() as u64;
    out.counts.accesses = u64::from(f.accesses);
    if options.mode == Mode::RedCard {
        out.recount();
    } else {
        out.finish();
    }
    out
}

/// Producers split critical edges; a function where they did not is not analysed.
fn has_critical_edge(f: &Function, cfg: &Cfg) -> bool {
    cfg.order.iter().any(|b| {
        let successors = f.blocks[b.index()].term.successors();
        successors.len() > 1
            && successors.iter().any(|s| {
                cfg.preds[s.index()].len() > 1 || successors.iter().filter(|t| *t == s).count() > 1
            })
    })
}

/// A check at each access.
fn everywhere(f: &Function, cfg: &Cfg, fallback: bool) -> Placement {
    let mut out = Placement {
        fates: vec![Fate::default(); f.accesses as usize],
        ..Placement::default()
    };
    for &block in &cfg.order {
        for (index, i) in f.blocks[block.index()].instrs.iter().enumerate() {
            if let Instr::Access { id, kind, path, .. } = i {
                out.at(Point { block, index }, vec![single(*id, *kind, path)]);
            }
        }
    }
    out.counts.accesses = u64::from(f.accesses);
    out.counts.fallback = u64::from(fallback);
    out.finish();
    out
}

fn single(id: AccessId, kind: Kind, path: &Path) -> Check {
    Check {
        kind,
        paths: vec![path.clone()],
        sources: vec![id],
    }
}

struct Placer<'a> {
    a: &'a Analysis<'a>,
    history: &'a History,
    anticipated: &'a Anticipated,
    contexts: bool,
    /// Accesses that are checked in their own blocks, unless something covers them.
    stays: BTreeSet<AccessId>,
    /// Elements that do not wait for a block where ways meet, see [`Options::elements_with_ranges`].
    with_ranges: BTreeMap<BlockId, Vec<Fact>>,
    out: Placement,
    /// Why there is a check at a point.
    why: BTreeMap<Point, Why>,
    /// Of the block being visited: accesses that need no check there.
    covered: Vec<Cover>,
}

/// Which rule asked for a check.
#[derive(Clone, Copy)]
enum Why {
    Deadline,
    Release,
    Merge,
    End,
    /// [`Options::copies_stay`].
    Stay,
}

/// Why an access needs no check somewhere.
#[derive(Clone)]
struct Cover {
    access: AccessId,
    by_check: bool,
    by_future: bool,
}

impl Placer<'_> {
    fn reset(&mut self) {
        self.out = Placement {
            fates: vec![Fate::default(); self.a.f.accesses as usize],
            ..Placement::default()
        };
    }

    /// RedCard: an access is checked where it is, unless H ⊢ p✁. Beyond it: `x = x + 1` is one check, as it is without any
    /// analysis; a read that is recorded just before a write of the same bytes costs more than the write.
    fn redcard(&mut self) {
        self.reset();
        let a = self.a;
        for &block in &a.cfg.order {
            let solver = a.solver(block);
            let mut past = self.history.at(block).to_vec();
            for (index, i) in a.f.blocks[block.index()].instrs.iter().enumerate() {
                if let Instr::Access { id, kind, path, .. } = i {
                    let redundant = a
                        .fact(*id)
                        .is_some_and(|p| cover(&solver, past.iter(), p, p.kind).is_some());
                    if redundant {
                        self.out.fates[id.index()].already_checked = true;
                    } else if self.is_overwritten(Point { block, index }, *kind, a.fact(*id)) {
                        self.out.fates[id.index()].anticipated = true;
                    } else {
                        self.keep_company(path, *kind, a.fact(*id), &past);
                        self.out
                            .at(Point { block, index }, vec![single(*id, *kind, path)]);
                    }
                }
                self.history.transfer(a, i, &mut past);
            }
        }
    }

    /// Is what is read at `point` written soon, in the same block and with nothing in between that may synchronise, call or end?
    fn is_overwritten(&self, point: Point, kind: Kind, read: Option<&Fact>) -> bool {
        let (Kind::Read, Some(read)) = (kind, read) else {
            return false;
        };
        let a = self.a;
        let solver = a.solver(point.block);
        let instrs = &a.f.blocks[point.block.index()].instrs;
        instrs[point.index + 1..]
            .iter()
            .take(SOON)
            .take_while(|i| !a.kills(i).any())
            .any(|i| match i {
                Instr::Access { id, kind, .. } if *kind == Kind::Write => {
                    a.fact(*id).is_some_and(|write| {
                        cover(&solver, [write].into_iter(), read, Kind::Read).is_some()
                    })
                }
                _ => false,
            })
    }

    /// The fields of the same object that were accessed before, in this release-free span.
    fn keep_company(&mut self, path: &Path, kind: Kind, resolved: Option<&Fact>, past: &[Fact]) {
        if path.shape != Shape::Field {
            return;
        }
        let field = path.lo.constant();
        let mut others = BTreeSet::from([field]);
        if let Some(p) = resolved {
            // An object is known by what its address is besides the field's offset.
            let base = |p: &Path, field: i64| p.lo.offset(field.saturating_neg());
            let this = base(&p.path, field);
            others.extend(
                past.iter()
                    .filter(|f| f.path.shape == Shape::Field && f.kind >= kind)
                    .map(|f| (f, f.path.lo.constant()))
                    .filter(|(f, offset)| base(&f.path, *offset) == this)
                    .map(|(_, offset)| offset),
            );
        }
        self.out.company.push((field, others));
    }

    /// Past checks, and the sets C, to the greatest fixed point.
    fn bigfoot(&mut self) {
        self.reset();
        let a = self.a;
        let start = |b: BlockId, ends: &[Option<Vec<Fact>>], old: &[Fact], visits: usize| {
            start_of(a, b, ends, old, visits)
        };
        let mut blocks: Vec<Vec<Cover>> = vec![Vec::new(); a.f.blocks.len()];
        solve(a, start, |b, checked| {
            self.forget(b);
            let end = self.block(b, checked);
            blocks[b.index()] = std::mem::take(&mut self.covered);
            end
        });
        for c in blocks.into_iter().flatten() {
            if let Some(fate) = self.out.fates.get_mut(c.access.index()) {
                fate.already_checked |= c.by_check;
                fate.anticipated |= c.by_future;
            }
        }
        for why in std::mem::take(&mut self.why).into_values() {
            let counts = &mut self.out.counts;
            match why {
                Why::Deadline => counts.at_acquire += 1,
                Why::Release => counts.at_release += 1,
                Why::Merge => counts.at_merge += 1,
                Why::End => counts.at_end += 1,
                Why::Stay => {}
            }
        }
    }

    /// Accesses that have more than one check to themselves, if a check where they are would be made no more often.
    fn copied(&self) -> BTreeSet<AccessId> {
        // Shares in checks, in parts of one.
        const ONE: u64 = 1 << 20;
        let a = self.a;
        let loops_of = |b: BlockId| {
            let of = a.cfg.loops.iter().enumerate();
            of.filter(move |(_, l)| l.contains[b.index()])
                .map(|(l, _)| l)
        };
        let mut home: BTreeMap<AccessId, BlockId> = BTreeMap::new();
        for &b in &a.cfg.order {
            for i in &a.f.blocks[b.index()].instrs {
                if let Instr::Access { id, .. } = i {
                    home.insert(*id, b);
                }
            }
        }
        let mut shares: BTreeMap<AccessId, u64> = BTreeMap::new();
        let mut gathered = BTreeSet::new();
        for (point, checks) in self.out.checks.iter().chain(&self.out.commits) {
            let is_commit = self.out.commits.contains_key(point);
            for check in checks {
                let share = check.paths.len() as u64 * ONE / check.sources.len().max(1) as u64;
                let is_range = check.paths.iter().any(|path| match &path.extent {
                    Extent::One => false,
                    Extent::Many { hi, .. } => {
                        hi.minus(&path.lo).is_none_or(|d| d.as_constant().is_none())
                    }
                });
                for source in &check.sources {
                    *shares.entry(*source).or_default() += share;
                    let left_its_loop = home.get(source).is_none_or(|b| {
                        loops_of(*b).any(|l| !a.cfg.loops[l].contains[point.block.index()])
                    });
                    if is_range || is_commit || left_its_loop {
                        gathered.insert(*source);
                    }
                }
            }
        }
        let copied = shares.into_iter().filter(|(_, share)| *share > ONE);
        copied
            .map(|(id, _)| id)
            .filter(|id| !gathered.contains(id))
            .collect()
    }

    /// Elements that are pending where ways meet, while a range that may have them is checked on one of the ways.
    fn beside_ranges(&self) -> BTreeMap<BlockId, Vec<Fact>> {
        let a = self.a;
        let mut found: BTreeMap<BlockId, Vec<Fact>> = BTreeMap::new();
        for (point, checks) in &self.out.checks {
            let b = point.block.index();
            let (true, [s]) = (
                point.index == a.f.blocks[b].instrs.len(),
                &a.cfg.succs[b][..],
            ) else {
                continue;
            };
            let meets = a.cfg.preds[s.index()].len() > 1;
            if !meets || a.cfg.loop_of_header[s.index()].is_some() {
                continue;
            }
            let edge = a.edge(point.block, *s);
            let ranges: Vec<Fact> = checks
                .iter()
                .flat_map(|check| check.paths.iter().map(|path| (path, check.kind)))
                .filter_map(|(path, kind)| Fact::new(&a.values, path.clone(), kind, Vec::new()))
                .collect();
            let pending = self.history.at(*s).iter().filter(|element| {
                let here = edge.backward_fact(element);
                here.is_some_and(|here| ranges.iter().any(|range| range.may_have(&here)))
            });
            for element in pending {
                insert(found.entry(*s).or_default(), element.clone());
            }
        }
        found
    }

    /// Takes back what an earlier visit to `b` has placed.
    fn forget(&mut self, b: BlockId) {
        let range = Point { block: b, index: 0 }..=Point {
            block: b,
            index: usize::MAX,
        };
        let points: Vec<Point> = self.out.checks.range(range.clone()).map(|c| *c.0).collect();
        for p in points {
            self.out.checks.remove(&p);
            self.why.remove(&p);
        }
        let points: Vec<Point> = self
            .out
            .commits
            .range(range.clone())
            .map(|c| *c.0)
            .collect();
        for p in points {
            self.out.commits.remove(&p);
            self.out.slow_rounds.remove(&p);
        }
        if self.contexts {
            let points: Vec<Point> = self.out.contexts.range(range).map(|c| *c.0).collect();
            for p in points {
                self.out.contexts.remove(&p);
            }
        }
    }

    /// Goes through a block; `checked` are the past checks p√ at its start. Returns those at its end.
    fn block(&mut self, b: BlockId, mut checked: Vec<Fact>) -> Vec<Fact> {
        let a = self.a;
        let block = &a.f.blocks[b.index()];
        let anticipated = self.anticipated.points(a, b, |_| self.contexts);
        let mut past = self.history.at(b).to_vec();
        // Accesses that are checked in this block at the latest.
        let mut staying: Vec<Fact> = Vec::new();
        for (index, i) in block.instrs.iter().enumerate() {
            let point = Point { block: b, index };
            let kills = a.kills(i);
            self.context(point, &past, &checked, &anticipated[index]);
            if kills.any() {
                let future: &[Fact] = if kills.deadline {
                    &[]
                } else {
                    &anticipated[index]
                };
                let why = if kills.deadline {
                    Why::Deadline
                } else {
                    Why::Release
                };
                self.checks(point, &past, &mut checked, future, &[], why);
                staying.clear();
            }
            if let Instr::Access { id, kind, path, .. } = i {
                if self.history.immediate.contains(id) {
                    self.out.at(point, vec![single(*id, *kind, path)]);
                } else if self.stays.contains(id) {
                    staying.extend(a.fact(*id).cloned());
                }
            }
            self.context(point, &past, &checked, &anticipated[index]);
            if kills.forgets {
                checked.clear();
            }
            self.history.transfer(a, i, &mut past);
        }
        let point = Point {
            block: b,
            index: block.instrs.len(),
        };
        let kills = a.terminator_kills(&block.term);
        let future = anticipated.last().map_or(&[][..], |v| v);
        self.context(point, &past, &checked, future);
        if kills.any() {
            let future = if kills.deadline { &[] } else { future };
            self.checks(point, &past, &mut checked, future, &[], Why::End);
        } else {
            self.checks(point, &staying, &mut checked, future, &[], Why::Stay);
        }
        if let [s] = a.cfg.succs[b.index()][..]
            && a.cfg.preds[s.index()].len() > 1
        {
            self.edge(b, s, &past, &mut checked);
            checked = compact(&a.values, &a.solver(b), checked);
        }
        self.context(point, &past, &checked, future);
        if kills.forgets {
            checked.clear();
        }
        checked
    }

    /// The edge to a block where several ways meet: what is forgotten there is checked here.
    fn edge(&mut self, b: BlockId, s: BlockId, past: &[Fact], checked: &mut Vec<Fact>) {
        let a = self.a;
        let edge = a.edge(b, s);
        let here = |facts: &[Fact]| -> Vec<Fact> {
            facts.iter().filter_map(|f| edge.backward_fact(f)).collect()
        };
        // What waits when a loop begins that has a deadline in each of its rounds is checked in the first of them at the latest, and would be in all others, too: where ways
        // meet, nobody knows that it was.
        let entered = a.cfg.loop_of_header[s.index()].filter(|_| !a.cfg.is_back_edge(b, s));
        let kept = match entered {
            Some(l) if self.has_deadline(l) => Vec::new(),
            _ => {
                let with_ranges = self.with_ranges.get(&s).map_or(&[][..], |facts| facts);
                let is_pending = |f: &&Fact| !with_ranges.iter().any(|w| w.path == f.path);
                let pending = self.history.at(s).iter().filter(is_pending);
                pending.filter_map(|f| edge.backward_fact(f)).collect()
            }
        };
        // What waits for the next round of a cycle that is no natural loop might wait for ever.
        let future = if a.cfg.is_irregular_edge(b, s) {
            Vec::new()
        } else {
            here(self.anticipated.at(s))
        };
        let point = Point {
            block: b,
            index: a.f.blocks[b.index()].instrs.len(),
        };
        self.checks(point, past, checked, &future, &kept, Why::Merge);
        let endless = a.cfg.loop_of_header[s.index()]
            .is_some_and(|l| a.endless[l] && a.cfg.is_back_edge(b, s));
        if endless {
            let solver = a.solver(b);
            let pending: Vec<Fact> = past
                .iter()
                .filter(|p| cover(&solver, checked.iter(), p, p.kind).is_none())
                .cloned()
                .collect();
            if !pending.is_empty() {
                let checks = coalesce(&self.a.values, &solver, pending);
                self.out.commits.insert(point, checks);
                if a.cfg.loop_of_header[s.index()].is_some_and(|l| a.calls(l)) {
                    self.out.slow_rounds.insert(point);
                }
            }
        }
    }

    /// Is there a deadline in each round of loop `l`?
    fn has_deadline(&self, l: usize) -> bool {
        let (a, this) = (self.a, &self.a.cfg.loops[l]);
        let inside = a.cfg.order.iter().filter(|b| this.contains[b.index()]);
        inside
            .filter(|b| this.latches.iter().all(|to| a.cfg.dominates(**b, *to)))
            .any(|b| {
                let block = &a.f.blocks[b.index()];
                let mut instrs = block.instrs.iter();
                instrs.any(|i| a.kills(i).deadline) || a.terminator_kills(&block.term).deadline
            })
    }

    /// `C = Checks(H, H', A)`, placed at `point` and remembered in `checked`.
    fn checks(
        &mut self,
        point: Point,
        past: &[Fact],
        checked: &mut Vec<Fact>,
        future: &[Fact],
        kept: &[Fact],
        why: Why,
    ) {
        let solver = self.a.solver(point.block);
        let mut c: Vec<Fact> = Vec::new();
        for p in past {
            let known = checked.iter().chain(future).chain(kept);
            match cover(&solver, known, p, p.kind) {
                None => c.push(p.clone()),
                Some(used) => {
                    let by_check = used.iter().any(|i| *i < checked.len());
                    let by_future = used
                        .iter()
                        .any(|i| (checked.len()..checked.len() + future.len()).contains(i));
                    let covered = p.sources.iter().map(|s| Cover {
                        access: *s,
                        by_check,
                        by_future,
                    });
                    self.covered.extend(covered);
                }
            }
        }
        if c.is_empty() {
            return;
        }
        let checks = coalesce(&self.a.values, &solver, c);
        for check in &checks {
            for path in &check.paths {
                let fact = Fact::new(&self.a.values, path.clone(), check.kind, Vec::new());
                if let Some(fact) = fact {
                    insert(checked, fact);
                }
            }
        }
        self.out.at(point, checks);
        self.why.insert(point, why);
    }

    fn context(&mut self, point: Point, past: &[Fact], checked: &[Fact], future: &[Fact]) {
        if !self.contexts {
            return;
        }
        let plain = |facts: &[Fact]| facts.iter().map(|f| (f.kind, f.path.clone())).collect();
        let context = Context {
            conditions: self.a.conditions.at(point.block).to_vec(),
            accesses: plain(past),
            checks: plain(checked),
            anticipated: plain(future),
        };
        let here = self.out.contexts.entry(point).or_default();
        if here.last() != Some(&context) {
            here.push(context);
        }
    }
}
