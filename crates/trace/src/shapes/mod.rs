//! Traces shaped like known programs: the array programs of the Java Grande benchmarks, on which the
//! papers measure. What each thread accesses, in which order, and where it synchronises follows the
//! programs' loops; what they compute does not matter here.
//!
//! Traces are generated as a stream: a billion events need no more memory than a thousand.

mod programs;

use crate::error::Error;
use crate::names::{Names, Namespace};
use event::{AccessKind, Addr, Event, Op, Site, SyncId, Tid};

/// How large a trace.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Elements, rows or particles; the shape's own default if not given.
    pub size: Option<u64>,
    /// How often the work is repeated.
    pub iterations: Option<u64>,
    /// Worker threads, at least 1.
    pub threads: u32,
    /// For what is random.
    pub seed: u64,
}

/// A program's shape.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// What it is called.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    make: fn(&Size) -> Program,
}

/// All shapes.
pub const SHAPES: &[Shape] = &[
    Shape {
        name: "crypt",
        about: "block cipher: blocks of byte arrays, read-only keys",
        make: programs::crypt,
    },
    Shape {
        name: "series",
        about: "Fourier coefficients: two arrays in uneven blocks",
        make: programs::series,
    },
    Shape {
        name: "lufact",
        about: "LU factorisation: shrinking suffixes of columns",
        make: programs::lufact,
    },
    Shape {
        name: "moldyn",
        about: "molecular dynamics: strided outer loop, triangular inner loop, reduction",
        make: programs::moldyn,
    },
    Shape {
        name: "montecarlo",
        about: "tasks with arrays of their own, results under a lock",
        make: programs::montecarlo,
    },
    Shape {
        name: "sparse",
        about: "sparse matrix-vector product: indices from arrays",
        make: programs::sparse,
    },
    Shape {
        name: "sor",
        about: "red-black over-relaxation: rows, barriers",
        make: programs::sor,
    },
    Shape {
        name: "raytracer",
        about: "rows of pixels, a shared scene, a checksum under a lock",
        make: programs::raytracer,
    },
];

/// What one thread does in one phase.
type Work = Box<dyn Iterator<Item = (Op, Site)>>;

enum Phase {
    /// The main thread works alone.
    Main(Work),
    /// The main thread starts new workers.
    Start,
    /// Each worker works.
    Work(Vec<Work>),
    /// The workers wait for each other.
    Barrier,
    /// The workers end and are joined.
    Stop,
}

struct Program {
    names: Names,
    phases: Box<dyn Iterator<Item = Phase>>,
}

/// A named array of a program.
#[derive(Clone, Copy)]
struct Array {
    base: u64,
    elem: u8,
    len: u64,
}

impl Array {
    fn access(self, kind: AccessKind, i: u64, site: Site) -> (Op, Site) {
        let addr = Addr(self.base + i * u64::from(self.elem));
        let size = u32::from(self.elem);
        (Op::Access { kind, addr, size }, site)
    }

    fn read(self, i: u64, site: Site) -> (Op, Site) {
        self.access(AccessKind::Read, i, site)
    }

    fn write(self, i: u64, site: Site) -> (Op, Site) {
        self.access(AccessKind::Write, i, site)
    }

    fn alloc(self, site: Site) -> (Op, Site) {
        let op = Op::Alloc {
            addr: Addr(self.base),
            elem: self.elem,
            len: self.len,
        };
        (op, site)
    }

    fn free(self, site: Site) -> (Op, Site) {
        let addr = Addr(self.base);
        (Op::Free { addr }, site)
    }
}

/// Names what a program uses.
#[derive(Default)]
struct Builder {
    names: Names,
}

impl Builder {
    fn array(&mut self, name: &str, elem: u8, len: u64) -> Array {
        // Lengths come from the command line: they are cut to what an array can have.
        let len = len.clamp(1, crate::names::MAX_LEN);
        let base = self
            .names
            .allocate(name, elem, len)
            .map_or(0, |array| array.base.0);
        Array { base, elem, len }
    }

    fn site(&mut self, name: &str) -> Site {
        Site(self.names.intern(Namespace::Site, name))
    }

    fn lock(&mut self, name: &str) -> SyncId {
        SyncId(u64::from(self.names.intern(Namespace::Lock, name)))
    }
}

/// Events that a worker makes before another one has its turn, if it holds no lock.
const TURN: usize = 500;

impl Shape {
    /// Calls `f` with each event and the names that it uses.
    pub fn generate(
        &self,
        size: &Size,
        f: &mut dyn FnMut(&Event, &Names) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Program { mut names, phases } = (self.make)(size);
        let main = Tid(names.intern(Namespace::Thread, "main"));
        let barrier = SyncId(u64::from(names.intern(Namespace::Barrier, "barrier")));
        let control = Site(names.intern(Namespace::Site, "control"));
        let mut workers: Vec<Tid> = Vec::new();
        let mut started = 0;
        let mut emit =
            |thread: Tid, op: Op, site: Site, names: &Names| f(&Event { thread, op, site }, names);
        for phase in phases {
            match phase {
                Phase::Main(work) => {
                    for (op, site) in work {
                        emit(main, op, site, &names)?;
                    }
                }
                Phase::Start => {
                    for _ in 0..size.threads.max(1) {
                        started += 1;
                        let name = format!("worker{started}");
                        let worker = Tid(names.intern(Namespace::Thread, &name));
                        emit(main, Op::Fork(worker), control, &names)?;
                        workers.push(worker);
                    }
                }
                Phase::Work(work) => {
                    let mut turns: Vec<(Tid, Work)> = workers.iter().copied().zip(work).collect();
                    while !turns.is_empty() {
                        let mut next = Vec::with_capacity(turns.len());
                        for (worker, mut work) in turns {
                            if turn(&mut work, |op, site| emit(worker, op, site, &names))? {
                                next.push((worker, work));
                            }
                        }
                        turns = next;
                    }
                }
                Phase::Barrier => {
                    for &worker in &workers {
                        emit(worker, Op::Arrive(barrier), control, &names)?;
                    }
                    for &worker in &workers {
                        emit(worker, Op::Depart(barrier), control, &names)?;
                    }
                }
                Phase::Stop => {
                    for worker in workers.drain(..) {
                        emit(worker, Op::End, control, &names)?;
                        emit(main, Op::Join(worker), control, &names)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// One turn of a worker; false when its work is done.
fn turn(
    work: &mut Work,
    mut emit: impl FnMut(Op, Site) -> Result<(), Error>,
) -> Result<bool, Error> {
    let mut held = 0_u32;
    let mut done = 0;
    while done < TURN || held > 0 {
        let Some((op, site)) = work.next() else {
            return Ok(false);
        };
        match op {
            Op::Acquire(_) => held += 1,
            Op::Release(_) => held = held.saturating_sub(1),
            _ => {}
        }
        emit(op, site)?;
        done += 1;
    }
    Ok(true)
}
