//! Precise checks by their definition: BigFoot (PLDI 2017), section 2, with reads and writes told
//! apart as in its section 5.1.
//!
//! A check **covers** an access to the same byte by the same thread if it precedes the access with no
//! release between, or succeeds it with no acquire between. A write check covers reads and writes, a
//! read check covers reads.
//!
//! A check is **legitimate** for an access to the same byte by the same thread if it precedes the access
//! with no acquire between, or succeeds it with no release between. A write check is legitimate for
//! writes, a read check for reads and writes.
//!
//! A trace has precise checks if each byte of each access is covered by some check and each byte of each check is
//! legitimate for some access. Then accesses and checks race on the same bytes.
//!
//! An acquire is an operation that a happens-before edge can lead to, a release one that an edge can
//! start from. Nested pairs of one lock count too: that only asks for more.

use event::{AccessKind, Addr, Event, Op, Site, Tid};
use std::collections::{BTreeMap, BTreeSet};

/// A step of a program with checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// What the program does.
    Event(Event),
    /// A check of `size` bytes at `addr`.
    Check {
        /// By whom.
        thread: Tid,
        /// Read or write check.
        kind: AccessKind,
        /// First byte.
        addr: Addr,
        /// Number of bytes.
        size: u32,
    },
}

impl Step {
    fn thread(&self) -> Tid {
        match self {
            Step::Event(e) => e.thread,
            Step::Check { thread, .. } => *thread,
        }
    }
}

/// Can a happens-before edge lead to this operation (other than from its own thread)?
pub fn acquires(op: &Op) -> bool {
    match op {
        Op::Acquire(_)
        | Op::ReadAcquire(_)
        | Op::VolatileRead(_)
        | Op::Receive(_)
        | Op::Depart(_)
        | Op::Join(_) => true,
        Op::Load { order, .. } => order.acquires(),
        Op::Rmw { order, .. } => order.acquires(),
        Op::Fence(order) => order.acquires(),
        _ => false,
    }
}

/// Can a happens-before edge start from this operation (other than to its own thread)?
pub fn releases(op: &Op) -> bool {
    match op {
        Op::Release(_)
        | Op::ReadRelease(_)
        | Op::VolatileWrite(_)
        | Op::Send(_)
        | Op::Arrive(_)
        | Op::Fork(_) => true,
        Op::Store { order, .. } => order.releases(),
        Op::Rmw { order, .. } => order.releases(),
        Op::Fence(order) => order.releases(),
        _ => false,
    }
}

/// A byte of a step that has no partner.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Lonely {
    /// Index of the step.
    pub step: usize,
    /// The first such byte of it.
    pub addr: Addr,
}

/// What is wrong with the checks of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Verdict {
    /// Accesses that no check covers: a race may be missed.
    pub uncovered: Vec<Lonely>,
    /// Checks that are legitimate for no access: a false alarm may be raised.
    pub illegitimate: Vec<Lonely>,
}

impl Verdict {
    /// Are the checks precise?
    pub fn is_precise(&self) -> bool {
        self.uncovered.is_empty() && self.illegitimate.is_empty()
    }
}

/// An access or check of one byte, with how many acquires and releases its thread made before it.
#[derive(Clone, Copy)]
struct At {
    step: usize,
    kind: AccessKind,
    acquires: u32,
    releases: u32,
}

/// Looks at every pair of an access and a check of the same byte by the same thread.
pub fn judge(steps: &[Step]) -> Verdict {
    let mut count: BTreeMap<Tid, (u32, u32)> = BTreeMap::new();
    let mut accesses: BTreeMap<(Tid, u64), Vec<At>> = BTreeMap::new();
    let mut checks: BTreeMap<(Tid, u64), Vec<At>> = BTreeMap::new();
    for (step, s) in steps.iter().enumerate() {
        let thread = s.thread();
        let (a, r) = count.entry(thread).or_default();
        let (kind, addr, size, into) = match s {
            Step::Check {
                kind, addr, size, ..
            } => (*kind, *addr, *size, &mut checks),
            Step::Event(Event {
                op: Op::Access { kind, addr, size },
                ..
            }) => (*kind, *addr, *size, &mut accesses),
            Step::Event(e) => {
                *a += u32::from(acquires(&e.op));
                *r += u32::from(releases(&e.op));
                continue;
            }
        };
        for byte in addr.0..addr.0.saturating_add(u64::from(size)) {
            into.entry((thread, byte)).or_default().push(At {
                step,
                kind,
                acquires: *a,
                releases: *r,
            });
        }
    }
    let covers = |check: &At, access: &At| {
        check.kind >= access.kind
            && if check.step < access.step {
                check.releases == access.releases
            } else {
                check.acquires == access.acquires
            }
    };
    let legitimate = |check: &At, access: &At| {
        access.kind >= check.kind
            && if check.step < access.step {
                check.acquires == access.acquires
            } else {
                check.releases == access.releases
            }
    };
    let none = Vec::new();
    let mut verdict = Verdict::default();
    for (key, found) in &accesses {
        let partners = checks.get(key).unwrap_or(&none);
        for a in found {
            if !partners.iter().any(|c| covers(c, a)) {
                verdict.uncovered.push(Lonely {
                    step: a.step,
                    addr: Addr(key.1),
                });
            }
        }
    }
    for (key, found) in &checks {
        let partners = accesses.get(key).unwrap_or(&none);
        for c in found {
            if !partners.iter().any(|a| legitimate(c, a)) {
                verdict.illegitimate.push(Lonely {
                    step: c.step,
                    addr: Addr(key.1),
                });
            }
        }
    }
    for list in [&mut verdict.uncovered, &mut verdict.illegitimate] {
        list.sort();
        list.dedup_by_key(|l| l.step);
    }
    verdict
}

/// The program's own events, without its checks.
pub fn without_checks(steps: &[Step]) -> Vec<Event> {
    steps
        .iter()
        .filter_map(|s| match s {
            Step::Event(e) => Some(*e),
            Step::Check { .. } => None,
        })
        .collect()
}

/// The same execution with its checks in place of its plain accesses: its races are check races.
pub fn checks_for_accesses(steps: &[Step]) -> Vec<Event> {
    steps
        .iter()
        .filter_map(|s| match *s {
            Step::Event(Event {
                op: Op::Access { .. },
                ..
            }) => None,
            Step::Event(e) => Some(e),
            Step::Check {
                thread,
                kind,
                addr,
                size,
            } => Some(Event {
                thread,
                op: Op::Access { kind, addr, size },
                site: Site(0),
            }),
        })
        .collect()
}

/// The bytes on which a trace's checks race.
pub fn racy_bytes(steps: &[Step]) -> Result<BTreeSet<u64>, crate::Malformed> {
    Ok(crate::Oracle::new(&checks_for_accesses(steps))?.racy_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use event::SyncId;

    fn event(op: Op) -> Step {
        Step::Event(Event {
            thread: Tid(0),
            op,
            site: Site(0),
        })
    }

    fn trace(text: &str) -> Vec<Step> {
        let lock = SyncId(1);
        let addr = Addr(8);
        let size = 8;
        let check = |kind| Step::Check {
            thread: Tid(0),
            kind,
            addr,
            size,
        };
        let access = |kind| event(Op::Access { kind, addr, size });
        text.split_whitespace()
            .map(|word| match word {
                "acq" => event(Op::Acquire(lock)),
                "rel" => event(Op::Release(lock)),
                "r" => access(AccessKind::Read),
                "w" => access(AccessKind::Write),
                "R" => check(AccessKind::Read),
                _ => check(AccessKind::Write),
            })
            .collect()
    }

    /// Figure 4 of the paper, and the table of section 5.1.
    #[test]
    fn ranges_of_figure_4() {
        for (text, covered, legitimate) in [
            ("W rel w", false, true),
            ("W w", true, true),
            ("w W", true, true),
            ("w acq W", false, true),
            ("w rel W", true, false),
            ("W acq w", true, false),
            ("acq r rel r R acq r rel", true, true),
            ("r W", true, false),
            ("w R", false, true),
            ("r w W", true, true),
            ("w", false, true),
            ("W", true, false),
        ] {
            let v = judge(&trace(text));
            assert_eq!(v.uncovered.is_empty(), covered, "covered: {text}");
            assert_eq!(v.illegitimate.is_empty(), legitimate, "legitimate: {text}");
        }
    }
}
