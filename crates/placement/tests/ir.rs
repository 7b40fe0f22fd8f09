//! Functions as a compiler would hand them over: no BFJ, pointers that walk, calls to strangers.

use placement::ir::{
    Call, Callee, Cond, Effects, Extent, Function, Instr, Kind, Path, Phi, Point, Shape,
    Terminator, Var,
};
use placement::{Lin, Options, place};

fn write(f: &mut Function, addr: Lin, size: u32) -> Instr {
    Instr::Access {
        id: f.access(),
        kind: Kind::Write,
        path: Path::one(addr, size, Shape::Element),
        dst: None,
        value: None,
    }
}

fn offset(x: Var, by: i64) -> Lin {
    Lin::from(x).offset(by).expect("small")
}

/// `do { *p = …; p += 4 } while (p != end)`, with a call in each round if wanted.
fn walk(call: Option<Effects>) -> Function {
    let mut f = Function::default();
    let (start, end) = (f.var("start"), f.var("end"));
    f.params = vec![start, end];
    let entry = f.block(Terminator::Stop);
    let header = f.block(Terminator::Stop);
    let exit = f.block(Terminator::Return(Lin::from(0)));
    let (p, next) = (f.var("p"), f.var("next"));
    let store = write(&mut f, Lin::from(p), 4);
    f.blocks[entry.index()].term = Terminator::Goto(header);
    let block = &mut f.blocks[header.index()];
    block.phis.push(Phi {
        dst: p,
        args: vec![(entry, Lin::from(start)), (header, Lin::from(next))],
    });
    block.instrs.push(store);
    block.instrs.extend(call.map(|e| {
        Instr::Call(Call {
            dst: None,
            callee: Callee::External(e),
            args: Vec::new(),
        })
    }));
    block.instrs.push(Instr::Let {
        dst: next,
        value: offset(p, 4),
    });
    block.term = Terminator::Branch {
        cond: Cond::NonZero(Lin::from(next).minus(&Lin::from(end)).expect("small")),
        then: header,
        otherwise: exit,
    };
    f.split_critical_edges();
    f
}

#[test]
fn a_walking_pointer_is_one_range_behind_the_loop() {
    for call in [None, Some(Effects::NONE)] {
        let f = walk(call);
        let placement = place(&f, &[], Options::default());
        let [(point, checks)] = &placement.checks.iter().collect::<Vec<_>>()[..] else {
            panic!("one place: {:?}", placement.checks);
        };
        assert_eq!(point.block.0, 2, "the exit");
        let path = &checks[0].paths[0];
        assert_eq!(path.lo, Lin::from(Var(0)));
        let hi = offset(Var(2), 4);
        assert_eq!(path.extent, Extent::Many { hi, stride: 4 });
        assert_eq!(checks[0].sources.len(), 1);
        // `!=` by steps of four may miss its end, but then it runs out of memory.
        assert!(placement.commits.is_empty());
    }
}

#[test]
fn strangers_are_deadlines() {
    let f = walk(Some(Effects::UNKNOWN));
    let placement = place(&f, &[], Options::default());
    let block = placement.checks.keys().map(|p| (p.block.0, p.index));
    assert_eq!(block.collect::<Vec<_>>(), [(1, 1)], "before the call");
}

/// A cycle that may be entered at two blocks may go on for ever: it puts no check off beyond a round.
#[test]
fn a_cycle_with_two_entries_checks_in_each_round() {
    let mut f = Function::default();
    let c = f.var("c");
    f.params = vec![c];
    let entry = f.block(Terminator::Stop);
    let one = f.block(Terminator::Stop);
    let two = f.block(Terminator::Goto(one));
    f.blocks[one.index()].term = Terminator::Goto(two);
    f.blocks[entry.index()].term = Terminator::Branch {
        cond: Cond::Zero(Lin::from(c)),
        then: one,
        otherwise: two,
    };
    let store = write(&mut f, Lin::from(c), 8);
    f.blocks[two.index()].instrs.push(store);
    f.split_critical_edges();
    let placement = place(&f, &[], Options::default());
    assert_eq!(placement.counts.fallback, 0);
    assert!(placement.commits.is_empty());
    let points: Vec<_> = placement.checks.keys().collect();
    let behind = Point {
        block: two,
        index: 1,
    };
    assert_eq!(points, [&behind], "on the way from the store to itself");
}

/// A wider check covers a narrower access within it, never the other way round.
#[test]
fn sizes_are_told_apart() {
    for (first, second, paths) in [
        ((0, 8), (4, 4), 1),
        ((4, 4), (0, 8), 1),
        ((0, 4), (2, 4), 2),
    ] {
        let mut f = Function::default();
        let x = f.var("x");
        f.params = vec![x];
        let entry = f.block(Terminator::Return(Lin::from(0)));
        for (at, size) in [first, second] {
            let store = write(&mut f, offset(x, at), size);
            f.blocks[entry.index()].instrs.push(store);
        }
        let placement = place(&f, &[], Options::default());
        assert_eq!(placement.counts.checks, paths, "{first:?} {second:?}");
    }
}

/// A function of one block with these accesses, and the paths of its checks.
fn straight(accesses: impl FnOnce(&mut Function, Var) -> Vec<Instr>) -> Vec<Path> {
    let mut f = Function::default();
    let p = f.var("p");
    f.params = vec![p];
    let entry = f.block(Terminator::Return(Lin::from(0)));
    f.blocks[entry.index()].instrs = accesses(&mut f, p);
    let placement = place(&f, &[], Options::default());
    let checks = placement.checks.into_values().flatten();
    checks.flat_map(|check| check.paths).collect()
}

#[test]
fn cleared_memory_contains_its_elements() {
    let paths = straight(|f, p| {
        let mut cleared = write(f, Lin::from(p), 1);
        if let Instr::Access { path, .. } = &mut cleared {
            path.extent = Extent::Many {
                hi: offset(p, 64),
                stride: 1,
            };
        }
        vec![
            cleared,
            write(f, offset(p, 8), 8),
            write(f, offset(p, 56), 8),
        ]
    });
    assert_eq!(paths.len(), 1, "{paths:?}");
    let beyond = straight(|f, p| {
        let mut cleared = write(f, Lin::from(p), 1);
        if let Instr::Access { path, .. } = &mut cleared {
            path.extent = Extent::Many {
                hi: offset(p, 64),
                stride: 1,
            };
        }
        vec![cleared, write(f, offset(p, 60), 8)]
    });
    assert_eq!(beyond.len(), 2, "{beyond:?}");
}

#[test]
fn a_structure_is_its_fields() {
    let whole = |f: &mut Function, p| {
        let mut access = write(f, Lin::from(p), 16);
        if let Instr::Access { kind, .. } = &mut access {
            *kind = Kind::Read;
        }
        access
    };
    let fields = straight(|f, p| {
        vec![
            write(f, Lin::from(p), 8),
            write(f, offset(p, 8), 4),
            write(f, offset(p, 12), 4),
            whole(f, p),
        ]
    });
    assert!(fields.iter().all(|path| path.size < 16), "{fields:?}");
    let gap = straight(|f, p| {
        vec![
            write(f, Lin::from(p), 8),
            write(f, offset(p, 12), 4),
            whole(f, p),
        ]
    });
    assert!(gap.iter().any(|path| path.size == 16), "{gap:?}");
}
