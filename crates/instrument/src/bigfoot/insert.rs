//! The way back: placement's checks as calls in the LLVM function.
use super::gather;
use super::lower::Lowered;
use crate::access::{Extent, Kind};
use crate::checks::Checks;
use crate::llvm::{Context, Module, Value};
use crate::places;
use crate::stats::{Count, Stats};
use placement::ir::{self, AccessId, BlockId, Check, Path, Point};
use placement::{Lin, Placement};
use std::collections::HashMap;

/// A range of at most so many locations, known before the program runs, has a check of its own if there is one of that size,
/// and is checked one by one otherwise: both have quick paths.
const ONE_BY_ONE: i64 = 4;

/// A loop that may not end commits its checks after so many rounds, which take no time to speak of; in its first round if it
/// calls somebody, who may take his time; and then again after as many as it had until then, since what it commits may have grown as
/// much: all commits together cost about what the last one does.
const FIRST_COMMIT: u64 = 64;

/// No more rounds than this pass without a commit.
const COMMIT_PERIOD: u64 = 1 << 20;

/// Inserts everything; returns what was inserted and why, or that an edge has no place for code.
pub(super) fn insert(
    module: Module,
    lowered: &Lowered,
    placement: &Placement,
    checks: &mut Checks,
    stats: &mut Stats,
) -> Result<Vec<places::Check>, String> {
    let mut this = Inserter {
        context: module.context(),
        lowered,
        checks,
        stats,
        places: Vec::new(),
        edges: HashMap::new(),
    };
    let lists = gather::find(&mut this, placement)?;
    // Places are found first: code that is put in moves blocks, never instructions.
    let mut found: Vec<(Value, &Vec<Check>, Option<Rounds>)> = Vec::new();
    let commits = placement.commits.iter().map(|(p, c)| {
        let rounds = match placement.slow_rounds.contains(p) {
            true => Rounds::Slow,
            false => Rounds::Quick,
        };
        (p, c, Some(rounds))
    });
    for (point, checks, commit) in placement
        .checks
        .iter()
        .map(|(p, c)| (p, c, None))
        .chain(commits)
    {
        let before = this.place_of(*point)?;
        found.push((before, checks, commit));
    }
    // Ahead of other checks at the same place.
    lists.insert(&mut this);
    for (before, list, commit) in found {
        let before = match commit {
            Some(rounds) => this.now_and_then(before, rounds),
            None => before,
        };
        // Ranges first: a word that is in one, as nobody could know here, then has nothing left to do.
        let mut list: Vec<&Check> = list.iter().collect();
        list.sort_by_key(|check| extent(&check.paths) == ::places::Extent::One);
        for (done, check) in list.iter().enumerate() {
            let outside = this.unless_in_range(before, check, &list[..done]);
            this.check(outside, check);
        }
    }
    for access in &lowered.immediate {
        this.checks.plain(lowered.function, access, this.stats);
        this.stats.add(Count::Immediate);
    }
    Ok(this.places)
}

/// How long a round of a loop that may not end takes.
#[derive(Clone, Copy)]
enum Rounds {
    Quick,
    Slow,
}

pub(super) struct Inserter<'a> {
    pub(super) context: Context,
    pub(super) lowered: &'a Lowered,
    pub(super) checks: &'a mut Checks,
    pub(super) stats: &'a mut Stats,
    places: Vec<places::Check>,
    /// The ends of blocks made on edges.
    edges: HashMap<BlockId, Value>,
}

impl Inserter<'_> {
    /// The instruction that a point is before.
    pub(super) fn place_of(&mut self, point: Point) -> Result<Value, String> {
        self.origin(point).ok_or_else(|| {
            format!(
                "no place for a check in function {}; please report this, and link with -ffootrace=all until it is mended",
                self.lowered.function.name()
            )
        })
    }

    /// The same; a block on an edge is made when it is first asked for.
    fn origin(&mut self, point: Point) -> Option<Value> {
        let block = &self.lowered.ir.blocks[point.block.index()];
        match block.on_edge {
            Some((from, to)) => {
                if let Some(made) = self.edges.get(&point.block) {
                    return Some(*made);
                }
                let from = self.lowered.terminators[from.index()];
                let to = self.lowered.blocks[to.index()];
                let made = from.split_edge(to)?.terminator()?;
                self.edges.insert(point.block, made);
                Some(made)
            }
            None => {
                let origins = &self.lowered.origins[point.block.index()];
                let end = self.lowered.terminators[point.block.index()];
                Some(origins.get(point.index).copied().unwrap_or(end))
            }
        }
    }

    /// Makes code before `before` that runs in an early round of a loop and ever more rarely afterwards.
    fn now_and_then(&mut self, before: Value, rounds: Rounds) -> Value {
        let i32 = self.context.integer(32);
        let function = self.lowered.function;
        let entry = self
            .lowered
            .blocks
            .first()
            .and_then(|block| block.instructions().first().copied());
        let Some(entry) = entry else {
            return before;
        };
        // Rounds are counted, and due in those whose number has no bit in common with the mask, which grows.
        let first = match rounds {
            Rounds::Quick => 1,
            Rounds::Slow => 0,
        };
        self.checks.before(entry, entry, function);
        let builder = self.checks.builder();
        let (rounds, mask) = (builder.stack_slot(i32), builder.stack_slot(i32));
        builder.store(i32.constant(first), rounds);
        builder.store(i32.constant(FIRST_COMMIT - 1), mask);
        self.checks.before(before, before, function);
        let builder = self.checks.builder();
        let round = builder.load(i32, rounds);
        builder.store(builder.add(round, i32.constant(1)), rounds);
        let seen = builder.load(i32, mask);
        let due = builder.is_zero(builder.and(round, seen));
        self.stats.add(Count::Commits);
        let inside = due.branch_before(before);
        self.checks.before(inside, before, function);
        let builder = self.checks.builder();
        let wider = builder.add(builder.add(seen, seen), i32.constant(1));
        builder.store(builder.and(wider, i32.constant(COMMIT_PERIOD - 1)), mask);
        inside
    }

    /// Makes code before `before` that runs if the one location of `check` is in none of the ranges of `done`, which are checked there, too: an element of a row that
    /// is gone through, such as the pivot's, has an index that only the program knows. Ranges elsewhere in memory are not asked.
    fn unless_in_range(&mut self, before: Value, check: &Check, done: &[&Check]) -> Value {
        let [one] = &check.paths[..] else {
            return before;
        };
        let covers = |other: &&&Check| other.kind == ir::Kind::Write || check.kind == other.kind;
        let ranges = done.iter().filter(covers).flat_map(|other| &other.paths);
        let found = ranges
            .filter(|_| one.extent == ir::Extent::One)
            .find_map(|range| {
                let ir::Extent::Many { hi, stride } = &range.extent else {
                    return None;
                };
                let (from, bytes) = (one.lo.minus(&range.lo)?, hi.minus(&range.lo)?);
                let size = i64::from(one.size);
                let alike = *stride == size && range.size == one.size;
                // Elements of one array: in the range if they begin there.
                (alike
                    && from.divisible_by(size)
                    && bytes.divisible_by(size)
                    && self.is_near(&from)
                    && bytes.as_constant().is_none())
                .then_some((from, bytes))
            });
        let Some((from, bytes)) = found else {
            return before;
        };
        let line_of = self.line_of(before, check);
        self.checks.before(before, line_of, self.lowered.function);
        let (from, bytes) = (self.number(&from), self.at_least_zero(&bytes));
        let outside = self.checks.builder().reaches(from, bytes);
        outside.branch_before(before)
    }

    /// Is it a distance within one object? Then no pointer is left over.
    fn is_near(&self, distance: &Lin) -> bool {
        let pointer = self.context.pointer();
        let is_pointer = |x: ir::Var| self.lowered.roots[x.index()].kind() == pointer;
        distance.as_constant().is_none() && !distance.vars().any(is_pointer)
    }

    fn at_least_zero(&self, e: &Lin) -> Value {
        let bytes = self.number(e);
        let builder = self.checks.builder();
        builder.select(builder.is_negative(bytes), self.constant(0), bytes)
    }

    /// The instruction whose line a check has.
    fn line_of(&self, before: Value, check: &Check) -> Value {
        let source = check
            .sources
            .first()
            .and_then(|id| self.lowered.accesses.get(id.index()));
        source.map_or(before, |access| access.instruction)
    }

    fn check(&mut self, before: Value, check: &Check) {
        let (kind, line_of) = self.describe(before, check, extent(&check.paths));
        self.checks.before(before, line_of, self.lowered.function);
        for path in &check.paths {
            self.path(kind, path, &check.sources);
        }
    }

    /// Writes down what a check is, and says of which kind and with which instruction's line.
    pub(super) fn describe(
        &mut self,
        before: Value,
        check: &Check,
        extent: ::places::Extent,
    ) -> (Kind, Value) {
        let kind = match check.kind {
            ir::Kind::Read => Kind::Read,
            ir::Kind::Write => Kind::Write,
        };
        let line_of = self.line_of(before, check);
        self.places.push(places::Check {
            at: line_of,
            kind,
            extent,
            sources: check.sources.iter().map(|id| id.index()).collect(),
        });
        (kind, line_of)
    }

    fn path(&mut self, kind: Kind, path: &Path, sources: &[AccessId]) {
        let start = self.address(&path.lo);
        let size = i64::from(path.size);
        let ir::Extent::Many { hi, stride } = &path.extent else {
            let align = self.alignment(size, sources);
            self.checks
                .bytes(kind, start, u64::from(path.size), align, self.stats);
            return;
        };
        let stride = *stride;
        let wide = stride.unsigned_abs();
        let distance = hi.minus(&path.lo);
        if let Some(distance) = distance.as_ref().and_then(Lin::as_constant) {
            let count = if distance <= 0 {
                0
            } else {
                (distance - 1) / stride + 1
            };
            let align = self.alignment(size, sources);
            let bytes = u64::try_from(count * stride).unwrap_or(0);
            // One that may straddle words takes as long as three within one.
            let is_quick = align >= 8 || count > 2;
            if stride == size && count > 1 && is_quick && Checks::has_size(kind, bytes, align) {
                self.checks.bytes(kind, start, bytes, align, self.stats);
            } else if count <= ONE_BY_ONE {
                for index in 0..count {
                    let at = self.constant(index * stride);
                    let at = self.checks.builder().offset(start, at);
                    self.checks
                        .bytes(kind, at, u64::from(path.size), align, self.stats);
                }
            } else if stride == size {
                let bytes = self.constant(count * stride);
                self.checks.range(kind, start, bytes, self.stats);
            } else {
                let count = self.constant(count);
                self.checks
                    .strided(kind, start, u64::from(path.size), count, wide, self.stats);
            }
            return;
        }
        let whole = distance.as_ref().is_some_and(|d| d.divisible_by(stride));
        let bytes = match &distance {
            Some(distance) => self.number(distance),
            None => {
                let (from, to) = (self.number(&path.lo), self.number(hi));
                self.checks.builder().subtract(to, from)
            }
        };
        let builder = self.checks.builder();
        let zero = self.constant(0);
        if stride == ir::ONCE {
            let some = builder.is_negative(builder.subtract(zero, bytes));
            let bytes = builder.select(some, self.constant(size), zero);
            self.checks.range(kind, start, bytes, self.stats);
            return;
        }
        let empty = builder.is_negative(bytes);
        let bytes = builder.select(empty, zero, bytes);
        if stride == size && whole {
            self.checks.range(kind, start, bytes, self.stats);
            return;
        }
        // Locations start below the bound, so a part of a stride counts as one.
        let bytes = if whole {
            bytes
        } else {
            builder.add(bytes, self.constant(stride - 1))
        };
        let count = builder.divide(bytes, self.constant(stride));
        if stride == size {
            let bytes = builder.multiply(count, self.constant(stride));
            self.checks.range(kind, start, bytes, self.stats);
        } else {
            self.checks
                .strided(kind, start, u64::from(path.size), count, wide, self.stats);
        }
    }

    /// What is known of the address of a location of `size` bytes: what the accesses to it promised.
    fn alignment(&self, size: i64, sources: &[AccessId]) -> u64 {
        sources
            .iter()
            .filter_map(|id| self.lowered.accesses.get(id.index()))
            .filter_map(|access| match access.extent {
                Extent::Bytes {
                    size: here, align, ..
                } if i64::try_from(here) == Ok(size) => Some(align),
                _ => None,
            })
            .min()
            .unwrap_or(1)
    }

    pub(super) fn constant(&self, value: i64) -> Value {
        self.context.integer(64).constant(value.cast_unsigned())
    }

    /// The expression as a pointer: from a root that is one, if there is just one.
    fn address(&self, e: &Lin) -> Value {
        let pointer = self.context.pointer();
        let is_base =
            |x: ir::Var, k: i64| k == 1 && self.lowered.roots[x.index()].kind() == pointer;
        let mut bases = e.terms().iter().filter(|(x, k)| is_base(*x, *k));
        let rest = match (bases.next(), bases.next()) {
            (Some((base, _)), None) => e
                .substitute(*base, &Lin::from(0))
                .map(|rest| (self.lowered.roots[base.index()], rest)),
            _ => None,
        };
        match rest {
            Some((base, rest)) if rest.as_constant() == Some(0) => base,
            Some((base, rest)) => {
                let offset = self.number(&rest);
                self.checks.builder().offset(base, offset)
            }
            None => {
                let number = self.number(e);
                self.checks.builder().integer_to_pointer(number, pointer)
            }
        }
    }

    /// The expression as an integer of 64 bits.
    pub(super) fn number(&self, e: &Lin) -> Value {
        let builder = self.checks.builder();
        let i64 = self.context.integer(64);
        let mut sum: Option<Value> = None;
        for (x, k) in e.terms() {
            let root = self.lowered.roots[x.index()];
            let value = match root.kind().integer_bits() {
                0 => builder.pointer_to_integer(root, i64),
                64 => root,
                _ => builder.to_signed(root, i64),
            };
            let term = if *k == 1 {
                value
            } else {
                builder.multiply(value, self.constant(*k))
            };
            sum = Some(match sum {
                Some(sum) => builder.add(sum, term),
                None => term,
            });
        }
        let constant = self.constant(e.constant());
        match sum {
            Some(sum) if e.constant() == 0 => sum,
            Some(sum) => builder.add(sum, constant),
            None => constant,
        }
    }
}

/// What the paths of a check cover, for those who read of it.
fn extent(paths: &[Path]) -> ::places::Extent {
    let many = paths.iter().find_map(|path| match path.extent {
        ir::Extent::One
        | ir::Extent::Many {
            stride: ir::ONCE, ..
        } => None,
        ir::Extent::Many { stride, .. } => Some(stride == i64::from(path.size)),
    });
    match many {
        Some(true) => ::places::Extent::Range,
        Some(false) => ::places::Extent::Strided,
        None => ::places::Extent::One,
    }
}
