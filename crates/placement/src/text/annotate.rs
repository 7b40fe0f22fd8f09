//! A placed program as BFJ again: checks, the renamings they need, and contexts if wanted.
//!
//! Checks speak of SSA values. Where a local still holds the value, its name is used; else a renaming
//! `i'7 <- i` is put behind the definition, as the paper's [RENAME] does. What is printed parses, and
//! runs like the placed program (contexts are comments), except that checks on the way of an exception to its
//! handler can only be mentioned.

use super::lower::{Lowered, Origin, WORD};
use super::print::{Notes, print_with};
use crate::cfg::Cfg;
use crate::ir::{
    Check, Cond, Extent, Function, Instr, Kind, ONCE, OpaqueOp, Path, Point, Program, Shape, Var,
};
use crate::lin::Lin;
use crate::placement::{Context, Placement};
use crate::values::Values;
use std::collections::{BTreeMap, BTreeSet};

/// The text of a program with its checks.
pub fn annotate(lowered: &Lowered, placements: &[Placement], contexts: bool) -> String {
    let mut notes = Notes::new();
    for (i, f) in lowered.program.funcs.iter().enumerate() {
        if let (Some(placement), Some(origins)) = (placements.get(i), lowered.origins.get(i)) {
            let mut w = Writer::new(&lowered.program, f, origins);
            w.function(placement, contexts);
            for (place, lines) in w.renames.into_iter().chain(w.lines) {
                notes.entry(place).or_default().extend(lines);
            }
        }
    }
    print_with(&lowered.source, &notes)
}

struct Writer<'a> {
    program: &'a Program,
    f: &'a Function,
    origins: &'a [Vec<Origin>],
    values: Values,
    refs: BTreeSet<Var>,
    renamed: BTreeSet<Var>,
    renames: Notes,
    lines: Notes,
}

impl<'a> Writer<'a> {
    fn new(program: &'a Program, f: &'a Function, origins: &'a [Vec<Origin>]) -> Writer<'a> {
        let values = Values::new(f, &Cfg::new(f), &[]);
        let refs = (0u32..)
            .zip(&f.vars)
            .filter(|(_, info)| info.is_ref)
            .filter_map(|(x, _)| values.resolve(&Lin::from(Var(x)))?.as_var())
            .collect();
        let refs = with_merges(f, &values, refs);
        Writer {
            program,
            f,
            origins,
            values,
            refs,
            renamed: BTreeSet::new(),
            renames: Notes::new(),
            lines: Notes::new(),
        }
    }

    fn function(&mut self, placement: &Placement, contexts: bool) {
        let mut points: BTreeSet<Point> = placement.checks.keys().copied().collect();
        points.extend(placement.commits.keys());
        points.extend(placement.gathers.keys().chain(placement.gathered.keys()));
        if contexts {
            points.extend(placement.contexts.keys());
        }
        // In the order of the text, so that lines at the same place come in the order of execution.
        let mut ordered: BTreeMap<(u32, usize, Point), Origin> = BTreeMap::new();
        for p in points {
            if let Some(o) = self.origin(p) {
                ordered.insert((o.body, o.index, p), o);
            }
        }
        for ((body, index, point), origin) in ordered {
            let mut lines = Vec::new();
            // The way of an exception from a call to a handler that has other ways in: BFJ has no
            // place for a statement there.
            let thrown = self.f.blocks[point.block.index()].on_edge.is_some();
            let here: &[Context] = placement
                .contexts
                .get(&point)
                .filter(|_| contexts)
                .map_or(&[], |c| c);
            if let Some(c) = here.first() {
                lines.push(self.context(c, &origin));
            }
            for list in placement.gathered.get(&point).into_iter().flatten() {
                lines.push(format!("gathered({});", list.0));
            }
            if let Some(checks) = placement.checks.get(&point) {
                lines.push(self.check("check", checks, &origin));
            }
            if let Some(checks) = placement.commits.get(&point) {
                lines.push(self.check("commit", checks, &origin));
            }
            for gather in placement.gathers.get(&point).into_iter().flatten() {
                let line = self.check("gather", std::slice::from_ref(&gather.check), &origin);
                lines.push(line.replace("gather(", &format!("gather({}, ", gather.list.0)));
            }
            for c in here.iter().skip(1) {
                lines.push(self.context(c, &origin));
            }
            let place = self.lines.entry((body, index)).or_default();
            for mut l in lines {
                if thrown {
                    l = format!("// if it throws: {l}");
                }
                // Several points may share a place in the text; a context is shown once.
                if place.last() != Some(&l) {
                    place.push(l);
                }
            }
        }
    }

    fn origin(&self, p: Point) -> Option<Origin> {
        let block = self.origins.get(p.block.index())?;
        block.get(p.index).or(block.last()).cloned()
    }

    fn check(&mut self, word: &str, checks: &[Check], origin: &Origin) -> String {
        let mut plain = true;
        let texts: Vec<String> = checks
            .iter()
            .map(|c| {
                let kind = match c.kind {
                    Kind::Read => "read",
                    Kind::Write => "write",
                };
                match self.paths(&c.paths, origin, true) {
                    Some(p) => format!("{kind} {p}"),
                    None => {
                        plain = false;
                        format!("{kind} {:?}", c.paths)
                    }
                }
            })
            .collect();
        let comment = if plain { "" } else { "// " };
        format!("{comment}{word}({});", texts.join(", "))
    }

    fn context(&mut self, c: &Context, origin: &Origin) -> String {
        let mut history: Vec<String> = c
            .conditions
            .iter()
            .filter_map(|c| self.condition(c, origin))
            .collect();
        for (facts, mark) in [(&c.accesses, "✁"), (&c.checks, "√")] {
            history.extend(self.facts(facts, mark, origin));
        }
        let anticipated = self.facts(&c.anticipated, "✸", origin);
        format!(
            "// {{{}}} • {{{}}}",
            history.join(", "),
            anticipated.join(", ")
        )
    }

    fn facts(&mut self, facts: &[(Kind, Path)], mark: &str, origin: &Origin) -> Vec<String> {
        facts
            .iter()
            .map(|(k, p)| {
                let kind = match k {
                    Kind::Read => "r",
                    Kind::Write => "w",
                };
                let text = self
                    .paths(std::slice::from_ref(p), origin, false)
                    .unwrap_or_else(|| format!("{p:?}"));
                format!("{text}{mark}{kind}")
            })
            .collect()
    }

    fn condition(&mut self, c: &Cond, origin: &Origin) -> Option<String> {
        let sign = match c {
            Cond::NonNegative(_) => ">=",
            Cond::Zero(_) => "=",
            Cond::NonZero(_) => "≠",
        };
        // Positive terms to the left, the rest to the right.
        let (mut left, mut right) = (Lin::default(), Lin::from(c.lin().constant()).scaled(-1)?);
        for &(x, k) in c.lin().terms() {
            if k > 0 {
                left = left.add_scaled(&Lin::from(x), k)?;
            } else {
                right = right.add_scaled(&Lin::from(x), k.checked_neg()?)?;
            }
        }
        let l = self.lin(&left, origin, false);
        let r = self.lin(&right, origin, false);
        Some(format!("{l} {sign} {r}"))
    }

    /// `x.f/g`, `a[lo..hi:k]` or `… when e`; `None` if BFJ has no way to say it.
    fn paths(&mut self, paths: &[Path], origin: &Origin, rename: bool) -> Option<String> {
        let mut paths: Vec<Path> = paths
            .iter()
            .map(|p| self.values.resolve_path(p))
            .collect::<Option<_>>()?;
        if let [path] = &mut paths[..]
            && let Extent::Many { hi, stride: ONCE } = &path.extent
        {
            let when = hi.minus(&path.lo)?;
            let size = i64::from(path.size);
            path.extent = if size == WORD {
                Extent::One
            } else {
                let hi = path.lo.offset(size)?;
                Extent::Many { hi, stride: WORD }
            };
            let place = self.place(&paths, origin, rename)?;
            let when = self.lin(&when, origin, rename);
            return Some(format!("{place} when {when}"));
        }
        self.place(&paths, origin, rename)
    }

    fn place(&mut self, paths: &[Path], origin: &Origin, rename: bool) -> Option<String> {
        let first = paths.first()?;
        if first.shape == Shape::Field {
            let mut fields = Vec::new();
            let mut base = None;
            for p in paths {
                let k = p.lo.constant();
                if k % WORD != 0 || p.extent != Extent::One {
                    return None;
                }
                fields.push(
                    self.program
                        .fields
                        .get(usize::try_from(k / WORD).ok()?)?
                        .as_str(),
                );
                base = p.lo.offset(-k);
            }
            let base = self.name(base?.as_var()?, origin, rename);
            return Some(format!("{base}.{}", fields.join("/")));
        }
        let base = first
            .lo
            .terms()
            .iter()
            .find(|(x, k)| *k == 1 && self.refs.contains(x))?
            .0;
        let index = |e: &Lin| e.minus(&Lin::from(base))?.divided(WORD);
        let lo_index = index(&first.lo)?;
        let lo = self.lin(&lo_index, origin, rename);
        let text = match &first.extent {
            Extent::One => lo,
            Extent::Many { hi, stride } => {
                let hi_index = index(hi)?;
                let hi = self.lin(&hi_index, origin, rename);
                match stride / WORD {
                    1 => format!("{lo}..{hi}"),
                    k => format!("{lo}..{hi}:{k}"),
                }
            }
        };
        Some(format!("{}[{text}]", self.name(base, origin, rename)))
    }

    fn lin(&mut self, e: &Lin, origin: &Origin, rename: bool) -> String {
        // A local that holds just this, or this but for a constant.
        for (name, value) in origin.env.iter() {
            let distance = self
                .values
                .resolve(value)
                .filter(|v| !v.terms().is_empty())
                .and_then(|v| e.minus(&v))
                .and_then(|d| d.as_constant());
            match distance {
                Some(0) => return name.clone(),
                Some(d) if d.abs() < 16 && e.terms().len() > 1 => {
                    return format!("{name} {} {}", if d < 0 { "-" } else { "+" }, d.abs());
                }
                _ => {}
            }
        }
        let mut out = String::new();
        let mut terms: Vec<(Var, i64)> = e.terms().to_vec();
        terms.sort_by_key(|t| t.1 < 0);
        for (x, k) in terms {
            let name = self.name(x, origin, rename);
            let sign = match (out.is_empty(), k < 0) {
                (true, false) => "",
                (true, true) => "0 - ",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            out.push_str(sign);
            match k.saturating_abs() {
                1 => out.push_str(&name),
                k => out.push_str(&format!("{k} * {name}")),
            }
        }
        let c = e.constant();
        if out.is_empty() {
            return c.to_string();
        }
        match c {
            0 => out,
            c if c < 0 => format!("{out} - {}", c.saturating_abs()),
            c => format!("{out} + {c}"),
        }
    }

    /// What a root is called at a place; with `rename`, a name is made if it has none there.
    fn name(&mut self, x: Var, origin: &Origin, rename: bool) -> String {
        let wanted = Lin::from(x);
        for (name, value) in origin.env.iter() {
            if self.values.resolve(value).as_ref() == Some(&wanted) {
                return name.clone();
            }
        }
        let info = &self.f.vars[x.index()].name;
        if !rename {
            return format!("{info}'");
        }
        let fresh = format!("{info}'{}", x.0);
        if self.renamed.insert(x) {
            self.define(x, &fresh);
        }
        fresh
    }

    /// Puts `fresh` behind the definition of `x`.
    fn define(&mut self, x: Var, fresh: &str) {
        let name = self.f.vars[x.index()].name.clone();
        for b in self.f.block_ids() {
            let block = &self.f.blocks[b.index()];
            let start = Point { block: b, index: 0 };
            let starts = block.phis.iter().any(|phi| phi.dst == x)
                || (b.index() == 0 && self.f.params.contains(&x));
            if starts && let Some(o) = self.origin(start) {
                let line = format!("{fresh} <- {name};");
                self.renames
                    .entry((o.body, o.index))
                    .or_default()
                    .push(line);
                return;
            }
            for (index, i) in block.instrs.iter().enumerate() {
                if i.defines() != Some(x) {
                    continue;
                }
                let Some(o) = self.origin(Point { block: b, index }) else {
                    return;
                };
                if let Instr::Opaque { op, args, .. } = i {
                    let texts: Vec<String> = args
                        .iter()
                        .map(|e| {
                            let e = self.values.resolve(e).unwrap_or_else(|| e.clone());
                            self.lin(&e, &o, true)
                        })
                        .collect();
                    let symbol = match op {
                        OpaqueOp::Mul => "*",
                        OpaqueOp::Div => "/",
                        OpaqueOp::Rem | OpaqueOp::Choice | OpaqueOp::Unknown => "%",
                    };
                    let line = format!("{fresh} = ({});", texts.join(&format!(") {symbol} (")));
                    self.renames
                        .entry((o.body, o.index))
                        .or_default()
                        .push(line);
                } else {
                    let line = format!("{fresh} <- {name};");
                    self.renames
                        .entry((o.body, o.index + 1))
                        .or_default()
                        .push(line);
                }
                return;
            }
        }
        // The result of a call with a handler: named where the call returns.
        for b in self.f.block_ids() {
            if let crate::ir::Terminator::Invoke { call, .. } = &self.f.blocks[b.index()].term
                && call.dst == Some(x)
                && let Some(o) = self.origins[b.index()].last()
            {
                let line = format!("{fresh} <- {name};");
                self.renames
                    .entry((o.body, o.index + 1))
                    .or_default()
                    .push(line);
                return;
            }
        }
    }
}

/// Merges of references are references.
fn with_merges(f: &Function, values: &Values, mut refs: BTreeSet<Var>) -> BTreeSet<Var> {
    loop {
        let before = refs.len();
        for phi in f.blocks.iter().flat_map(|b| &b.phis) {
            let is_ref = phi.args.iter().any(|(_, e)| {
                let root = values.resolve(e).and_then(|e| e.as_var());
                root.is_some_and(|x| refs.contains(&x))
            });
            if is_ref {
                refs.insert(phi.dst);
            }
        }
        if refs.len() == before {
            return refs;
        }
    }
}
