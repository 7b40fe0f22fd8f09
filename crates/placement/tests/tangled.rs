//! Functions whose cycles are no natural loops, as `goto` and the optimiser make them: random graphs, judged as the generated programs
//! of `precise.rs` are. BFJ has no words for them.

use event::{AccessKind, Addr, Op as Out, Site, SyncId, Tid};
use oracle::checks::{self, Step};
use placement::generate::Random;
use placement::interp::{Machine, Op};
use placement::ir::{
    BlockId, Cond, FuncId, Function, Instr, Kind, OpaqueOp, Path, Phi, Program, Shape, Sync,
    Terminator, Var,
};
use placement::{Lin, Mode, Options, Placed, place_program, schedule};

const MAX_STEPS: usize = 600;

/// A thread that is cut short owes checks for no more than its last accesses, however it goes round.
const MAX_OWED: usize = 90;

const WORDS: usize = 6;

fn offset(x: Var, by: usize) -> Lin {
    Lin::from(x).offset(by as i64 * 8).expect("small")
}

fn access(f: &mut Function, kind: Kind, addr: Lin) -> Instr {
    Instr::Access {
        id: f.access(),
        kind,
        path: Path::one(addr, 8, Shape::Element),
        dst: None,
        value: None,
    }
}

/// Blocks that go anywhere. Which way is taken depends on how many were taken before.
fn function(random: &mut Random, thread: usize) -> Function {
    let mut f = Function::default();
    let (object, flag, counters) = (f.var("o"), f.var("v"), f.var("c"));
    f.params = vec![object, flag, counters];
    let count = 4 + random.below(7);
    for _ in 0..count {
        f.block(Terminator::Return(Lin::from(0)));
    }
    let anywhere =
        |random: &mut Random| BlockId(u32::try_from(1 + random.below(count - 1)).expect("few"));
    for b in 0..count - 1 {
        for _ in 0..random.below(4) {
            let i = match random.below(12) {
                0 => Instr::Sync(Sync::VolatileWrite {
                    addr: Lin::from(flag),
                    value: Lin::from(1),
                }),
                1 => Instr::Sync(Sync::VolatileRead {
                    dst: f.var("seen"),
                    addr: Lin::from(flag),
                }),
                n => {
                    let kind = if n < 7 { Kind::Read } else { Kind::Write };
                    let at = offset(object, random.below(WORDS));
                    access(&mut f, kind, at)
                }
            };
            f.blocks[b].instrs.push(i);
        }
        if random.below(4) == 0 {
            // A round of any cycle is seen.
            let i = access(&mut f, Kind::Read, offset(object, random.below(WORDS)));
            f.blocks[b].instrs.push(i);
            f.blocks[b].term = Terminator::Goto(anywhere(random));
            continue;
        }
        let at = offset(counters, thread);
        let (seen, rest) = (f.var("n"), f.var("rest"));
        let mut read = access(&mut f, Kind::Read, at.clone());
        let mut write = access(&mut f, Kind::Write, at);
        if let Instr::Access { dst, .. } = &mut read {
            *dst = Some(seen);
        }
        if let Instr::Access { value, .. } = &mut write {
            *value = Lin::from(seen).offset(1);
        }
        let remainder = Instr::Opaque {
            dst: rest,
            op: OpaqueOp::Rem,
            args: vec![Lin::from(seen), Lin::from(2 + random.below(3) as i64)],
        };
        f.blocks[b].instrs.extend([read, write, remainder]);
        f.blocks[b].term = Terminator::Branch {
            cond: Cond::NonZero(Lin::from(rest)),
            then: anywhere(random),
            otherwise: anywhere(random),
        };
    }
    // Merges: another word by each way in.
    for b in 1..count {
        if random.below(2) == 0 {
            continue;
        }
        let id = BlockId(u32::try_from(b).expect("few"));
        let from: Vec<BlockId> = f
            .block_ids()
            .filter(|p| f.blocks[p.index()].term.successors().contains(&id))
            .collect();
        let dst = f.var("q");
        let args = from
            .into_iter()
            .map(|p| (p, offset(object, random.below(WORDS - 1))))
            .collect();
        f.blocks[b].phis.push(Phi { dst, args });
        for at in 0..2 {
            let kind = if random.below(2) == 0 {
                Kind::Read
            } else {
                Kind::Write
            };
            let i = access(&mut f, kind, offset(dst, at));
            f.blocks[b].instrs.insert(0, i);
        }
    }
    f.split_critical_edges();
    f
}

fn steps(m: &Machine<'_>) -> Vec<Step> {
    let kind = |k| match k {
        Kind::Read => AccessKind::Read,
        Kind::Write => AccessKind::Write,
    };
    m.trace()
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
                Op::VolatileRead(x) => Out::VolatileRead(SyncId(x as u64)),
                Op::VolatileWrite(x) => Out::VolatileWrite(SyncId(x as u64)),
                ref other => panic!("not in these programs: {other:?}"),
            };
            Step::Event(event::Event {
                thread,
                op,
                site: Site(0),
            })
        })
        .collect()
}

/// Whether it raced, or what is wrong.
fn judge(m: &Machine<'_>) -> Result<bool, String> {
    let steps = steps(m);
    let finished = m.enabled().is_empty();
    assert!(m.faults().is_empty(), "{:?}", m.faults());
    let verdict = checks::judge(&steps);
    let rest = |step: usize| {
        let thread = m.trace()[step].thread;
        m.trace()[step + 1..]
            .iter()
            .filter(move |e| e.thread == thread)
    };
    // A check right before its access, which was cut off.
    let cut = |step: usize| !finished && rest(step).all(|e| matches!(e.op, Op::Check { .. }));
    if let Some(bad) = verdict.illegitimate.iter().find(|l| !cut(l.step)) {
        return Err(format!("check {bad:?} is legitimate for no access"));
    }
    let recent = |step: usize| {
        let accesses = rest(step).filter(|e| matches!(e.op, Op::Access { .. }));
        !finished && accesses.count() <= MAX_OWED
    };
    if let Some(bad) = verdict.uncovered.iter().find(|l| !recent(l.step)) {
        return Err(format!("access {bad:?} is covered by no check"));
    }
    if !finished {
        return Ok(false);
    }
    let accesses = oracle::Oracle::new(&checks::without_checks(&steps))
        .map_err(|e| format!("the interpreter made no execution: {e:?}"))?
        .racy_bytes();
    let checked = checks::racy_bytes(&steps).map_err(|e| format!("{e:?}"))?;
    if accesses != checked {
        return Err(format!(
            "accesses race on {accesses:x?}, checks on {checked:x?}"
        ));
    }
    Ok(!accesses.is_empty())
}

fn is_tangled(f: &Function) -> bool {
    // Nothing but the shape: a graph is reducible if it comes down to one block by taking away loops to oneself and joining blocks that have one predecessor.
    let mut next: Vec<Option<Vec<usize>>> = vec![None; f.blocks.len()];
    let mut todo = vec![0];
    while let Some(b) = todo.pop() {
        if next[b].is_none() {
            let to: Vec<usize> = f.blocks[b]
                .term
                .successors()
                .iter()
                .map(|s| s.index())
                .collect();
            todo.extend(&to);
            next[b] = Some(to);
        }
    }
    loop {
        for (b, to) in next.iter_mut().enumerate() {
            if let Some(to) = to {
                to.retain(|s| *s != b);
                to.sort_unstable();
                to.dedup();
            }
        }
        let preds = |b: usize| -> Vec<usize> {
            (0..next.len())
                .filter(|p| next[*p].as_ref().is_some_and(|to| to.contains(&b)))
                .collect()
        };
        let joined = (1..next.len())
            .filter(|b| next[*b].is_some())
            .find_map(|b| Some((b, *preds(b).first().filter(|_| preds(b).len() == 1)?)));
        let Some((b, p)) = joined else {
            return next.iter().flatten().count() > 1;
        };
        let to = next[b].take().unwrap_or_default();
        if let Some(from) = &mut next[p] {
            from.retain(|s| *s != b);
            from.extend(to);
        }
    }
}

fn shape(placed: &Placed) -> String {
    let funcs = placed.program.funcs.iter();
    let lines = funcs.flat_map(|f| f.blocks.iter().enumerate());
    let lines: Vec<String> = lines
        .map(|(b, block)| format!("{b}: {:?} {:?} {:?}", block.phis, block.instrs, block.term))
        .collect();
    lines.join("\n")
}

#[test]
fn checks_in_tangled_functions_are_precise() {
    let (mut tangled, mut racy, mut finished, mut saved) = (0, 0, 0, 0);
    for seed in 1..700 {
        let mut random = Random(seed);
        let program = Program {
            funcs: (0..2).map(|t| function(&mut random, t)).collect(),
            shared: vec![8 * WORDS as i64, 8, 16],
            threads: vec![FuncId(0), FuncId(1)],
            fields: Vec::new(),
        };
        let is_one = program.funcs.iter().any(is_tangled);
        tangled += usize::from(is_one);
        for (mode, copies_stay) in [
            (Mode::BigFoot, false),
            (Mode::BigFoot, true),
            (Mode::RedCard, false),
        ] {
            let options = Options {
                mode,
                copies_stay,
                elements_with_ranges: copies_stay,
                ..Options::default()
            };
            let placed = place_program(&program, options);
            for p in &placed.placements {
                assert_eq!(p.counts.fallback, 0);
                saved += usize::from(is_one && p.counts.checks < p.counts.accesses);
            }
            for _ in 0..4 {
                let mut m = Machine::new(&placed.program, 1);
                schedule::random(&mut m, MAX_STEPS, &mut |n| random.below(n));
                finished += usize::from(m.enabled().is_empty());
                match judge(&m) {
                    Ok(raced) => racy += usize::from(raced),
                    Err(e) => panic!("seed {seed}, {options:?}: {e}\n{}", shape(&placed)),
                }
            }
        }
    }
    println!("{tangled} tangled, {finished} finished, {racy} racy, {saved} with fewer checks");
    assert!(tangled > 200 && finished > 2000 && racy > 1000 && saved > 500);
}
