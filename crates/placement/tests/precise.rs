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
use placement::ir::{Kind, Program};
use placement::{Mode, Options, place_program, schedule, text};

const MAX_STEPS: usize = 400;

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

/// What a run must satisfy. `finished`: no thread can go on (each is at its end, or blocked).
fn judge(machine: &Machine<'_>, finished: bool, address_precise: bool) -> Result<(), String> {
    let steps = steps(machine.trace());
    let faults = machine.faults();
    let clean = finished && faults.is_empty();
    if address_precise {
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
        let bad = verdict.uncovered.iter().find(|l| match steps[l.step] {
            // A thread that crashed or was cut short may still owe checks.
            Step::Event(e) => finished && !faults.iter().any(|f| f.0 == e.thread.0),
            Step::Check { .. } => true,
        });
        if let Some(bad) = bad {
            return Err(format!("access {bad:?} is covered by no check"));
        }
    }
    if clean {
        let accesses = oracle::Oracle::new(&checks::without_checks(&steps))
            .map_err(|e| format!("the interpreter made no execution: {e:?}"))?
            .racy_bytes();
        let checked = checks::racy_bytes(&steps).map_err(|e| format!("{e:?}"))?;
        let same = if address_precise {
            accesses == checked
        } else {
            accesses.is_empty() == checked.is_empty()
        };
        if !same {
            return Err(format!(
                "accesses race on {accesses:x?}, checks on {checked:x?}"
            ));
        }
    }
    Ok(())
}

fn listing(m: &Machine<'_>) -> String {
    let lines: Vec<String> = (0..)
        .zip(m.trace())
        .map(|(i, e)| format!("{i}: {} {:?}", e.thread, e.op))
        .collect();
    lines.join("\n")
}

fn options() -> [(&'static str, Options); 3] {
    let plain = Options::default();
    [
        ("bigfoot", plain),
        (
            "redcard",
            Options {
                mode: Mode::RedCard,
                ..plain
            },
        ),
        (
            "bigfoot with alias facts",
            Options {
                alias_facts: true,
                ..plain
            },
        ),
    ]
}

/// Judges every schedule of a small program, or `samples` random ones. Returns how many were judged.
fn check_schedules(
    placed: &Program,
    random: &mut Random,
    samples: usize,
    address_precise: bool,
) -> Result<usize, String> {
    let start = Machine::new(placed, 2);
    let mut failure = None;
    let limit = if samples == 0 { 60 } else { 0 };
    if limit > 0 {
        let (seen, _) = schedule::every(&start, MAX_STEPS, limit, &mut |m| {
            let result = judge(m, m.enabled().is_empty(), address_precise);
            failure = result.err().map(|e| format!("{e}\n{}", listing(m)));
            failure.is_none()
        });
        return failure.map_or(Ok(seen), Err);
    }
    for _ in 0..samples {
        let mut m = start.clone();
        let finished = schedule::random(&mut m, MAX_STEPS, &mut |n| random.below(n));
        judge(&m, finished, address_precise).map_err(|e| format!("{e}\n{}", listing(&m)))?;
    }
    Ok(samples)
}

fn check_program(seed: u64) -> usize {
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
    let source = program(&mut random, size);
    let text = text::print(&source);
    let parsed = text::parse(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
    assert_eq!(text, text::print(&parsed), "seed {seed}: print and parse");
    let lowered = text::lower(&parsed).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
    let mut pairs = 0;
    for (name, options) in options() {
        let (placed, placements) = place_program(&lowered.program, options);
        let samples = if small { 0 } else { 8 };
        match check_schedules(&placed, &mut random, samples, !options.alias_facts) {
            Ok(n) => pairs += n,
            Err(e) => panic!(
                "seed {seed}, {name}: {e}\n{}",
                text::annotate(&lowered, &placements, true)
            ),
        }
    }
    pairs
}

#[test]
fn checks_are_precise() {
    let read = |name| std::env::var(name).ok().and_then(|v| v.parse().ok());
    let wanted: usize = read("FOOTRACE_PLACEMENT_PAIRS").map_or(40_000, |v: u64| v as usize);
    let first: u64 = read("FOOTRACE_PLACEMENT_SEED").unwrap_or(1);
    let (mut pairs, mut programs) = (0, 0u64);
    while pairs < wanted {
        pairs += check_program(first + programs);
        programs += 1;
    }
    println!("{pairs} program-schedule pairs of {programs} programs");
}
