//! The three promises about Table I, for every partition and every footprint of every array up to 24
//! elements (12 for arbitrary sets), against partitions as plain sets of sets.

use engine::slimstate::{BitSet, Footprint, Labels, Mode, Partition, Rule, Shadow, Strided};
use std::collections::BTreeSet;

const N: u64 = 24;
const N_SETS: u64 = 12;

type Set = BTreeSet<u64>;

/// Follows a refinement with, in place of shadow locations, the part of the *old* partition that
/// each location was copied from.
struct Copies {
    table: Vec<u64>,
    singles: Vec<Option<u64>>,
}

impl Shadow for Copies {
    fn rebuild(&mut self, locations: u64, origin: &dyn Fn(u64) -> u64) {
        self.table = (0..locations)
            .map(|x| self.table[origin(x) as usize])
            .collect();
    }
    fn grow(&mut self, origin: u64) {
        self.table.push(self.table[origin as usize]);
    }
    fn single(&mut self, elements: Strided, origin: u64, _: bool) {
        for i in elements.indices() {
            assert_eq!(self.singles[i as usize], None, "element made single twice");
            self.singles[i as usize] = Some(self.table[origin as usize]);
        }
    }
}

fn strided(n: u64) -> Vec<Strided> {
    let mut all = Vec::new();
    for b in 0..n {
        all.push(Strided::one(b));
        for k in 1..n {
            for e in (b + k..n).step_by(k as usize) {
                all.push(Strided::new(b, e, k));
            }
        }
    }
    all
}

fn modes(n: u64) -> Vec<Mode> {
    let mut all = vec![Mode::Fine];
    if n > 1 {
        all.push(Mode::Coarse);
    }
    for x in (2..n).filter(|&x| n.is_multiple_of(x)) {
        all.push(Mode::Block(x));
        all.push(Mode::Stride(x));
    }
    for i in 1..n {
        all.push(Mode::Split(i));
        all.push(Mode::Prefix(i));
    }
    all
}

/// The documentation of each mode, word for word.
fn plain(mode: Mode, n: u64) -> BTreeSet<Set> {
    let singles = |i: u64| (0..i).map(|x| Set::from([x]));
    match mode {
        Mode::Coarse => [(0..n).collect()].into(),
        Mode::Fine => singles(n).collect(),
        Mode::Block(d) => (0..n / d).map(|p| (p * d..(p + 1) * d).collect()).collect(),
        Mode::Stride(s) => (0..s)
            .map(|p| (p..n).step_by(s as usize).collect())
            .collect(),
        Mode::Split(i) => [(0..i).collect(), (i..n).collect()].into(),
        Mode::Prefix(i) => singles(i).chain([(i..n).collect()]).collect(),
    }
}

fn parts<P: Partition>(p: &P, n: u64) -> BTreeSet<Set> {
    let parts: Vec<Set> = (0..p.parts(n))
        .map(|part| {
            let mut set = Set::new();
            p.members(part, n, &mut |run| set.extend(run.indices()));
            for &i in &set {
                assert_eq!(p.part_of(i), part, "ϕ disagrees with the members of {p}");
            }
            set
        })
        .collect();
    assert_eq!(parts.iter().map(|p| p.len() as u64).sum::<u64>(), n);
    parts.into_iter().collect()
}

fn precise(parts: &BTreeSet<Set>, f: &Set) -> bool {
    parts.iter().all(|p| p.is_subset(f) || p.is_disjoint(f))
}

/// Checks refine(P, f) against the promises; returns the result and the rule.
fn check<P: Partition, F: Footprint>(before: &P, f: &F, set: &Set, n: u64) -> (P, Rule) {
    let old = parts(before, n);
    let had = before.singles(n);
    let mut copies = Copies {
        table: (had..before.parts(n)).collect(),
        singles: (0..n).map(|i| (i < had).then_some(i)).collect(),
    };
    let mut after = before.clone();
    let rule = after.refine(f, n, &mut copies);
    let new = parts(&after, n);
    let what = || format!("n={n} P={before} f={set:?}: {after} by {}", rule.name());
    for p in &new {
        assert!(
            old.iter().any(|o| p.is_subset(o)),
            "no refinement: {}",
            what()
        );
    }
    assert!(precise(&new, set), "not sufficiently precise: {}", what());
    let Some((_, met)) = after.keeps(f, n) else {
        panic!("not kept: {}", what());
    };
    assert_eq!(
        before.keeps(f, n).is_some(),
        precise(&old, set),
        "{}",
        what()
    );
    if precise(&old, set) {
        assert_eq!(old, new, "changed without need: {}", what());
        assert_eq!(format!("{before}"), format!("{after}"));
    }
    // Each element's history came along.
    let has = after.singles(n);
    assert_eq!(
        copies.table.len() as u64,
        after.parts(n) - has,
        "{}",
        what()
    );
    for i in 0..n {
        let origin = if i < has {
            copies.singles[i as usize].unwrap_or_else(|| panic!("{i} has no location: {}", what()))
        } else {
            assert_eq!(copies.singles[i as usize], None, "{}", what());
            copies.table[(after.part_of(i) - has) as usize]
        };
        assert_eq!(origin, before.part_of(i), "history of {i}: {}", what());
    }
    // The commit visits exactly the parts of f, once each; single elements are not in T.
    let mut visited = Vec::new();
    after.each_part(f, &met, &mut |p, member| {
        assert_eq!(after.part_of(member), p, "{}", what());
        assert!(set.contains(&member), "{}", what());
        visited.push(p);
    });
    let mut wanted: Vec<u64> = set.iter().map(|&i| after.part_of(i)).collect();
    wanted.retain(|&p| p >= has);
    wanted.sort_unstable();
    wanted.dedup();
    visited.sort_unstable();
    assert_eq!(visited, wanted, "{}", what());
    (after, rule)
}

fn bits(set: &Set) -> BitSet {
    let mut bits = BitSet::default();
    for &i in set {
        assert!(bits.extend(Strided::one(i)));
    }
    bits
}

#[test]
fn modes_are_what_they_say() {
    for n in 1..=N {
        for mode in modes(n) {
            assert_eq!(parts(&mode, n), plain(mode, n), "{mode} of {n}");
        }
    }
}

#[test]
fn promises_hold_for_strided_ranges() {
    for n in 1..=N {
        for f in strided(n) {
            let set: Set = f.indices().collect();
            for mode in modes(n) {
                let one = check(&mode, &f, &set, n);
                // The bit-set reading of the table is the same on strided ranges.
                let other = check(&mode, &bits(&set), &set, n);
                assert_eq!(one, other, "n={n} P={mode} f={f:?}");
            }
        }
    }
}

#[test]
fn promises_hold_for_all_sets() {
    for n in 1..=N_SETS {
        for mask in 1..1u64 << n {
            let set: Set = (0..n).filter(|i| mask >> i & 1 != 0).collect();
            let f = bits(&set);
            for mode in modes(n) {
                check(&mode, &f, &set, n);
            }
        }
    }
}

/// The published table, written down apart from the code under test.
fn published(p: Mode, f: Strided, n: u64) -> Mode {
    fn gcd(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    let (b, e, k) = (f.first(), f.last(), f.step());
    let is =
        |from: u64, to: u64| (b, e, k) == (from, to, 1) || (from == to && (b, e) == (from, to));
    let fine = |mode: Mode| match mode {
        Mode::Stride(s) if s == n => Mode::Fine,
        other => other,
    };
    match p {
        Mode::Coarse if is(0, n - 1) => Mode::Coarse,
        Mode::Coarse if is(0, e) => Mode::Split(e + 1),
        Mode::Coarse if is(b, n - 1) => Mode::Split(b),
        Mode::Coarse if k == 1 && gcd(gcd(n, b), e + 1) > 1 => Mode::Block(gcd(gcd(n, b), e + 1)),
        Mode::Coarse if b < k && n - 1 < e + k && 1 < k && n.is_multiple_of(k) => Mode::Stride(k),
        Mode::Coarse if 4 * e < n => Mode::Prefix(e + 1),
        Mode::Block(d) if k == 1 && gcd(gcd(d, b), e + 1) > 1 => Mode::Block(gcd(gcd(d, b), e + 1)),
        Mode::Split(i) if is(0, i - 1) || is(i, n - 1) || is(0, n - 1) => p,
        Mode::Split(i) if k == 1 && gcd(gcd(gcd(n, i), b), e + 1) > 1 => {
            Mode::Block(gcd(gcd(gcd(n, i), b), e + 1))
        }
        Mode::Split(i) if 4 * i.max(e) < n => Mode::Prefix(i.max(e) + 1),
        Mode::Stride(s) => {
            let classes = k / gcd(k, s) * s;
            if n.is_multiple_of(classes) && 1 < classes && b < k && n - 1 < e + k {
                fine(Mode::Stride(classes))
            } else {
                Mode::Fine
            }
        }
        Mode::Prefix(i) if is(i, n - 1) || e < i => p,
        Mode::Prefix(_) if 2 * e < n - 1 => Mode::Prefix(2 * e),
        _ => Mode::Fine,
    }
}

/// The module documentation's counterexample, and that it is the only place where we deviate.
#[test]
fn published_table_is_not_lazy_for_prefix() {
    let (p, f, n) = (Mode::Prefix(2), Strided::run(1, 7), 8);
    assert!(precise(&plain(p, n), &f.indices().collect()));
    assert_eq!(published(p, f, n), Mode::Fine);
    assert_eq!(p.table(&f, n), (p, Rule::PrefixTailAndSingles));
    for n in 1..=N {
        for f in strided(n) {
            for mode in modes(n) {
                let (ours, rule) = mode.table(&f, n);
                if rule != Rule::PrefixTailAndSingles {
                    assert_eq!(ours, published(mode, f, n), "n={n} P={mode} f={f:?}");
                } else {
                    assert_eq!(published(mode, f, n), Mode::Fine, "n={n} P={mode} f={f:?}");
                }
            }
        }
    }
}

/// All partitions that can be reached from COARSE by footprints of any kind: bit-set partitions cut
/// no more than they must.
#[test]
fn labels_cut_only_what_is_cut() {
    for n in 1..=6u64 {
        let mut seen = BTreeSet::new();
        let mut work = vec![Labels::coarse(n)];
        while let Some(p) = work.pop() {
            let before = parts(&p, n);
            if !seen.insert(before.clone()) {
                continue;
            }
            for mask in 1..1u64 << n {
                let set: Set = (0..n).filter(|i| mask >> i & 1 != 0).collect();
                let (after, _) = check(&p, &bits(&set), &set, n);
                let wanted: BTreeSet<Set> = before
                    .iter()
                    .flat_map(|p| [p & &set, p - &set])
                    .filter(|p| !p.is_empty())
                    .collect();
                assert_eq!(parts(&after, n), wanted);
                work.push(after);
            }
        }
        assert_eq!(
            seen.len(),
            [1, 2, 5, 15, 52, 203][n as usize - 1],
            "Bell number of {n}"
        );
    }
    // Over chunk boundaries, with strided ranges.
    let n = 3000;
    let mut p = Labels::coarse(n);
    for f in [
        Strided::run(0, 1023),
        Strided::run(1000, 2100),
        Strided::new(1, 2999, 2),
        Strided::new(0, 2997, 3),
        Strided::one(2048),
    ] {
        p = check(&p, &f, &f.indices().collect(), n).0;
    }
}

#[test]
fn smaller_elements_keep_the_parts() {
    for n in 2..=N {
        for mode in modes(n) {
            for ratio in [2, 4, 8] {
                let scaled: BTreeSet<Set> = plain(mode, n)
                    .iter()
                    .map(|p| p.iter().flat_map(|i| i * ratio..(i + 1) * ratio).collect())
                    .collect();
                match mode.finer(ratio) {
                    None => assert!(matches!(mode, Mode::Stride(_))),
                    Some(finer) => {
                        for p in parts(&finer, n * ratio) {
                            assert!(scaled.iter().any(|s| p.is_subset(s)), "{mode} x{ratio}");
                        }
                        if !matches!(mode, Mode::Prefix(_) | Mode::Fine) {
                            assert_eq!(parts(&finer, n * ratio), scaled);
                        }
                    }
                }
            }
        }
    }
    let mut labels = Labels::coarse(1500);
    for f in [Strided::run(100, 1200), Strided::new(0, 1499, 7)] {
        labels = check(&labels, &f, &f.indices().collect(), 1500).0;
    }
    let scaled: BTreeSet<Set> = parts(&labels, 1500)
        .iter()
        .map(|p| p.iter().flat_map(|i| i * 4..(i + 1) * 4).collect())
        .collect();
    assert_eq!(parts(&labels.finer(4).unwrap(), 6000), scaled);
}

#[test]
fn strided_algebra_is_union() {
    let n = 12;
    let all = strided(n);
    for &f in all.iter().chain([&Strided::EMPTY]) {
        let set: Set = f.indices().collect();
        assert_eq!(set.len() as u64, f.len());
        for i in 0..n {
            assert_eq!(f.contains(i), set.contains(&i));
            let mut wanted = set.clone();
            wanted.insert(i);
            let mut quick = f;
            assert_eq!(quick.extend_one(i), f.with(i).is_some());
            assert_eq!(quick, f.with(i).unwrap_or(f), "{f:?} + {i}");
            match f.with(i) {
                Some(g) => assert_eq!(g.indices().collect::<Set>(), wanted, "{f:?} + {i}"),
                // The paper has no rule for {b, b+2k} ∪ {b+k}, which would change the stride.
                None => assert!(
                    !all.iter().any(|g| g.indices().collect::<Set>() == wanted)
                        || (f.len() == 2 && i == f.first().midpoint(f.last())),
                    "{f:?} + {i}"
                ),
            }
        }
        for &g in &all {
            let other: Set = g.indices().collect();
            assert_eq!(f.includes(g), other.is_subset(&set));
            let wanted = &set | &other;
            match f.union(g) {
                Some(u) => assert_eq!(u.indices().collect::<Set>(), wanted, "{f:?} ∪ {g:?}"),
                // No, only if no range of their common stride is the union (odds and evens have another).
                None => assert!(
                    !all.iter().any(|u| {
                        u.step() == f.step()
                            && u.step() == g.step()
                            && u.indices().collect::<Set>() == wanted
                    }),
                    "{f:?} ∪ {g:?}"
                ),
            }
        }
    }
}

#[test]
fn bit_sets_are_sets() {
    let mut state = 7u64;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    for _ in 0..300 {
        let n = 1 + random(20_000);
        let mut bits = BitSet::default();
        let mut set = Set::new();
        for _ in 0..1 + random(6) {
            let first = random(n);
            let more = Strided::new(first, first + random(n - first), 1 + random(9));
            assert!(bits.extend(more));
            set.extend(more.indices());
        }
        let mut pieces = Vec::new();
        bits.pieces(&mut |piece| pieces.extend(piece.indices()));
        assert_eq!(pieces, set.iter().copied().collect::<Vec<_>>());
        assert_eq!(bits.len(), set.len() as u64);
        let finer: Set = set.iter().flat_map(|i| i * 4..i * 4 + 4).collect();
        let mut pieces = Set::new();
        bits.finer(4)
            .unwrap()
            .pieces(&mut |piece| pieces.extend(piece.indices()));
        assert_eq!(pieces, finer);
    }
}
