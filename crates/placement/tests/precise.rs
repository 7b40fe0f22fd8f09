//! The definition of right for this crate: on generated programs, under every schedule (small ones) or random
//! ones (large ones), every access is covered, every check is legitimate, and checks race on the very
//! bytes on which accesses race.
//!
//! `FOOTRACE_PLACEMENT_PAIRS=1000000 cargo test --release -p footrace-placement --test precise` makes the long run;
//! `FOOTRACE_PLACEMENT_SEED` sets where it begins.

use event::{AccessKind, Addr, Op as Out, Site, SyncId, Tid};
use oracle::checks::{self, Step};
use placement::generate::{Random, Size, program};
use placement::interp::{Event, Machine, Op};
use placement::ir::{Extent, Kind, ONCE};
use placement::{Mode, Options, Placed, Proxies, ProxyUse, place_program, schedule, text};
use std::collections::{BTreeMap, BTreeSet};

const MAX_STEPS: usize = 1200;

/// A thread that was cut short owes checks for no more than its last accesses, if every `commit` is
/// carried out: no endless loop of a generated program accesses more than this in a round.
const MAX_OWED: usize = 250;

fn kind(k: Kind) -> AccessKind {
    match k {
        Kind::Read => AccessKind::Read,
        Kind::Write => AccessKind::Write,
    }
}

fn steps(trace: &[Event]) -> Vec<Step> {
    trace
        .iter()
        .map(|e| {
            let thread = Tid(e.thread);
            let op = match e.op {
                Op::Check {
                    kind: k,
                    addr,
                    size,
                } => {
                    return Step::Check {
                        thread,
                        kind: kind(k),
                        addr: Addr(addr as u64),
                        size,
                    };
                }
                Op::Access {
                    kind: k,
                    addr,
                    size,
                    ..
                } => Out::Access {
                    kind: kind(k),
                    addr: Addr(addr as u64),
                    size,
                },
                Op::Acquire(l) => Out::Acquire(SyncId(l as u64)),
                Op::Release(l) => Out::Release(SyncId(l as u64)),
                Op::VolatileRead(x) => Out::VolatileRead(SyncId(x as u64)),
                Op::VolatileWrite(x) => Out::VolatileWrite(SyncId(x as u64)),
                Op::Fork(t) => Out::Fork(Tid(t)),
                Op::Join(t) => Out::Join(Tid(t)),
                Op::Alloc { addr, bytes } => Out::Alloc {
                    addr: Addr(addr as u64),
                    elem: 8,
                    len: bytes as u64 / 8,
                },
            };
            Step::Event(event::Event {
                thread,
                op,
                site: Site(0),
            })
        })
        .collect()
}

/// What kinds of programs and runs were seen: a generator gone dull must fail the test.
#[derive(Default, Debug)]
struct Tally {
    programs: usize,
    pairs: usize,
    clean: usize,
    racy: usize,
    accesses: usize,
    checks: usize,
    static_accesses: u64,
    static_checks: u64,
    anticipated: usize,
    already_checked: usize,
    ranges: usize,
    /// Checks of what stays where it is, made if a loop had a round.
    visited: usize,
    /// Checks that are put on lists.
    gathers: usize,
    /// Accesses to what a loop chooses.
    settled: u64,
    commits: u64,
    at_merge: u64,
    proxies: usize,
    /// Programs with a check that BFJ has no words for.
    unsaid: usize,
    cut: usize,
    faults: BTreeMap<String, usize>,
}

/// What a run must satisfy. `finished`: no thread can go on (each is at its end, or blocked).
fn judge(
    machine: &Machine<'_>,
    finished: bool,
    options: Options,
    proxies: &Proxies,
    every_commit: bool,
    tally: &mut Tally,
) -> Result<(), String> {
    tally.pairs += 1;
    let steps = steps(machine.trace());
    let faults = machine.faults();
    let clean = finished && faults.is_empty();
    tally.cut += usize::from(!finished);
    for f in &faults {
        *tally.faults.entry(format!("{:?}", f.1)).or_default() += 1;
    }
    let by_definition = !options.alias_facts && proxies.is_empty();
    if by_definition {
        let verdict = checks::judge(&steps);
        // A check made just before its access, which then crashed or was cut off.
        let last = |step: usize| {
            let thread = machine.trace()[step].thread;
            let cut = !finished || faults.iter().any(|f| f.0 == thread);
            cut && !machine.trace()[step + 1..]
                .iter()
                .any(|e| e.thread == thread)
        };
        if let Some(bad) = verdict.illegitimate.iter().find(|l| !last(l.step)) {
            return Err(format!("check {bad:?} is legitimate for no access"));
        }
        // A thread that crashed may still owe checks; one that was cut short, those of its last accesses.
        let recent = |step: usize| {
            let thread = machine.trace()[step].thread;
            let later = machine.trace()[step..]
                .iter()
                .filter(|e| e.thread == thread);
            let accesses = later.filter(|e| matches!(e.op, Op::Access { .. })).count();
            !every_commit || accesses <= MAX_OWED
        };
        let bad = verdict.uncovered.iter().find(|l| {
            let thread = machine.trace()[l.step].thread;
            !faults.iter().any(|f| f.0 == thread) && (finished || !recent(l.step))
        });
        if let Some(bad) = bad {
            return Err(format!("access {bad:?} is covered by no check"));
        }
    }
    if !clean {
        return Ok(());
    }
    tally.clean += 1;
    for s in &steps {
        match s {
            Step::Check { .. } => tally.checks += 1,
            Step::Event(e) => tally.accesses += usize::from(matches!(e.op, Out::Access { .. })),
        }
    }
    let accesses = oracle::Oracle::new(&checks::without_checks(&steps))
        .map_err(|e| format!("the interpreter made no execution: {e:?}"))?
        .racy_bytes();
    tally.racy += usize::from(!accesses.is_empty());
    let mut checked = checks::racy_bytes(&steps).map_err(|e| format!("{e:?}"))?;
    let address_precise = !options.alias_facts && options.proxies != ProxyUse::OneWay;
    if address_precise && !proxies.is_empty() {
        checked = expand(machine, proxies, &checked);
    }
    let same = if address_precise {
        accesses == checked
    } else {
        accesses.is_empty() == checked.is_empty()
    };
    if same {
        Ok(())
    } else {
        Err(format!(
            "accesses race on {accesses:x?}, checks on {checked:x?}"
        ))
    }
}

/// The bytes that racy stand-ins stand for. Objects of generated programs have four fields, arrays have
/// 24 elements.
fn expand(machine: &Machine<'_>, proxies: &Proxies, racy: &BTreeSet<u64>) -> BTreeSet<u64> {
    let mut out = racy.clone();
    for (start, end) in machine.blocks().filter(|(s, e)| e - s == 32) {
        for addr in start..end {
            let field = (addr - start) / 8 * 8;
            let stand_in = addr - field + proxies.stand_in(field);
            if racy.contains(&(stand_in as u64)) {
                out.insert(addr as u64);
            }
        }
    }
    out
}

fn listing(m: &Machine<'_>) -> String {
    let lines: Vec<String> = (0..)
        .zip(m.trace())
        .map(|(i, e)| format!("{i}: {} {:?}", e.thread, e.op))
        .collect();
    lines.join("\n")
}

fn options() -> [(&'static str, Options); 10] {
    let plain = Options::default();
    let redcard = Options {
        mode: Mode::RedCard,
        ..plain
    };
    let proxies = |options, proxies| Options { proxies, ..options };
    let aliases = Options {
        alias_facts: true,
        ..plain
    };
    [
        ("bigfoot", plain),
        (
            "bigfoot with copies that stay",
            Options {
                copies_stay: true,
                ..plain
            },
        ),
        (
            "bigfoot with elements beside ranges",
            Options {
                elements_with_ranges: true,
                ..plain
            },
        ),
        (
            "bigfoot with lists",
            Options {
                copies_stay: true,
                elements_with_ranges: true,
                gathers: true,
                ..plain
            },
        ),
        (
            "bigfoot with choices",
            Options {
                choices: true,
                ..plain
            },
        ),
        ("redcard", redcard),
        ("bigfoot with alias facts", aliases),
        (
            "bigfoot with mutual proxies",
            proxies(plain, ProxyUse::Symmetric),
        ),
        (
            "bigfoot with all proxies",
            proxies(aliases, ProxyUse::OneWay),
        ),
        (
            "redcard with all proxies",
            proxies(redcard, ProxyUse::OneWay),
        ),
    ]
}

/// Judges every schedule of a small program (up to a limit), or some random ones of a large one.
fn check_schedules(
    placed: &Placed,
    options: Options,
    small: bool,
    random: &mut Random,
    tally: &mut Tally,
) -> Result<(), String> {
    let every_commit = random.below(2) == 0;
    let start = Machine::new(&placed.program, if every_commit { 1 } else { 2 });
    let mut result = Ok(());
    let mut judge = |m: &Machine<'_>| {
        let finished = m.enabled().is_empty();
        result = judge(m, finished, options, &placed.proxies, every_commit, tally)
            .map_err(|e| format!("{e}\n{}", listing(m)));
        result.is_ok()
    };
    if small {
        schedule::every(&start, MAX_STEPS, 60, &mut judge);
    } else {
        for _ in 0..8 {
            let mut m = start.clone();
            schedule::random(&mut m, MAX_STEPS, &mut |n| random.below(n));
            if !judge(&m) {
                break;
            }
        }
    }
    result
}

/// The placed program as text is a program, and runs like the placed one.
fn check_text(
    lowered: &text::Lowered,
    placed: &Placed,
    seed: u64,
    tally: &mut Tally,
) -> Result<(), String> {
    let text = text::annotate(lowered, &placed.placements, false);
    if text.contains("// if it throws: c") {
        return Ok(());
    }
    // A path whose base the text has no name for.
    if ["// check(", "// commit(", "// gather("]
        .iter()
        .any(|unsaid| text.contains(unsaid))
    {
        tally.unsaid += 1;
        return Ok(());
    }
    let again = text::parse(&text)
        .and_then(|s| text::lower(&s))
        .map_err(|e| e.to_string())?;
    let run = |program| {
        let mut random = Random(seed);
        let mut m = Machine::new(program, 2);
        schedule::random(&mut m, MAX_STEPS, &mut |n| random.below(n));
        listing(&m)
    };
    let (left, right) = (run(&placed.program), run(&again.program));
    if left == right {
        Ok(())
    } else {
        Err(format!("runs differently as text:\n{left}\n\n{right}"))
    }
}

fn check_program(seed: u64, tally: &mut Tally) {
    let mut random = Random(seed);
    let small = random.below(2) == 0;
    let size = if small {
        Size {
            threads: 2,
            statements: 3,
            depth: 1,
        }
    } else {
        Size {
            threads: 2 + random.below(2),
            statements: 6,
            depth: 3,
        }
    };
    tally.programs += 1;
    let source = program(&mut random, size);
    let text = text::print(&source);
    let parsed = text::parse(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
    assert_eq!(text, text::print(&parsed), "seed {seed}: print and parse");
    let lowered = text::lower(&parsed).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
    for (name, options) in options() {
        let placed = place_program(&lowered.program, options);
        let result = check_schedules(&placed, options, small, &mut random, tally)
            .and_then(|()| check_text(&lowered, &placed, seed, tally));
        if let Err(e) = result {
            let options = Options {
                contexts: true,
                ..options
            };
            let placed = place_program(&lowered.program, options);
            panic!(
                "seed {seed}, {name}: {e}\n{}",
                text::annotate(&lowered, &placed.placements, true)
            );
        }
        count(&placed, tally);
    }
}

fn count(placed: &Placed, tally: &mut Tally) {
    tally.proxies += usize::from(!placed.proxies.is_empty());
    for p in &placed.placements {
        tally.static_accesses += p.counts.accesses;
        tally.static_checks += p.counts.checks;
        tally.commits += p.counts.commits;
        tally.settled += p.counts.settled;
        tally.at_merge += p.counts.at_merge;
        tally.anticipated += p.fates.iter().filter(|f| f.anticipated).count();
        tally.already_checked += p.fates.iter().filter(|f| f.already_checked).count();
        tally.gathers += p.gathers.values().flatten().count();
        for path in p.checks.values().flatten().flat_map(|c| &c.paths) {
            match path.extent {
                Extent::One => {}
                Extent::Many { stride: ONCE, .. } => tally.visited += 1,
                Extent::Many { .. } => tally.ranges += 1,
            }
        }
    }
}

#[test]
fn checks_are_precise() {
    let read = |name| std::env::var(name).ok().and_then(|v| v.parse().ok());
    let wanted: usize = read("FOOTRACE_PLACEMENT_PAIRS").map_or(30_000, |v: u64| v as usize);
    let first: u64 = read("FOOTRACE_PLACEMENT_SEED").unwrap_or(1);
    let mut tally = Tally::default();
    for seed in first.. {
        if tally.pairs >= wanted {
            break;
        }
        check_program(seed, &mut tally);
    }
    println!("{tally:?}");
    assert!(tally.clean * 10 > tally.pairs * 6, "most runs are whole");
    assert!(tally.racy * 10 > tally.clean, "many of them race");
    assert!(tally.clean - tally.racy > tally.clean / 10, "many do not");
    let share = |part: usize| part * 50 > tally.programs;
    assert!(share(tally.anticipated) && share(tally.already_checked) && share(tally.ranges));
    assert!(share(tally.at_merge as usize) && share(tally.proxies));
    assert!(share(tally.commits as usize), "loops without a known end");
    assert!(share(tally.visited), "loops left after some round, or none");
    assert!(share(tally.gathers), "indices in memory");
    assert!(share(tally.settled as usize), "indices that are chosen");
    assert!(tally.unsaid * 20 < tally.programs, "nearly all have a text");
}
