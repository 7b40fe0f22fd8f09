//! The programs, loop by loop.

use super::{Array, Builder, Phase, Program, Size, Work};
use event::{Op, Site};

/// The half-open range of `n` things that worker `t` of `of` takes: blocks of equal size, the last may be shorter.
fn share(n: u64, t: u64, of: u64) -> std::ops::Range<u64> {
    let block = n.div_ceil(of.max(1));
    (t * block).min(n)..((t + 1) * block).min(n)
}

fn each_worker(size: &Size, work: impl Fn(u64) -> Work) -> Phase {
    Phase::Work((0..u64::from(size.threads.max(1))).map(work).collect())
}

fn fill(arrays: Vec<Array>, site: Site) -> Work {
    Box::new(arrays.into_iter().flat_map(move |array| {
        std::iter::once(array.alloc(site)).chain((0..array.len).map(move |i| array.write(i, site)))
    }))
}

fn program(b: Builder, phases: impl Iterator<Item = Phase> + 'static) -> Program {
    Program {
        names: b.names,
        phases: Box::new(phases),
    }
}

/// Random but repeatable: the `i`-th number below `n`.
fn scatter(seed: u64, i: u64, n: u64) -> u64 {
    let mut z = (i ^ seed.rotate_left(32)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)) % n.max(1)
}

/// `iterations` times encrypt and decrypt: 8 bytes of text, 52 keys, 8 bytes of result.
pub(super) fn crypt(size: &Size) -> Program {
    let size = *size;
    let n = size.size.unwrap_or(100_000).next_multiple_of(8);
    let mut b = Builder::default();
    let plain = b.array("plain", 1, n);
    let cipher = b.array("cipher", 1, n);
    let back = b.array("back", 1, n);
    let (z, dk) = (b.array("z", 4, 52), b.array("dk", 4, 52));
    let init = b.site("crypt init");
    let (get, key, put) = (
        b.site("crypt text"),
        b.site("crypt key"),
        b.site("crypt result"),
    );
    let compare = b.site("crypt compare");
    let pass = move |from: Array, keys: Array, to: Array| {
        let workers = each_worker(&size, |t| {
            let blocks = share(from.len / 8, t, u64::from(size.threads.max(1)));
            Box::new(blocks.flat_map(move |block| {
                let bytes = block * 8..block * 8 + 8;
                bytes
                    .clone()
                    .map(move |i| from.read(i, get))
                    .chain((0..52).map(move |k| keys.read(k, key)))
                    .chain(bytes.map(move |i| to.write(i, put)))
            }))
        });
        [Phase::Start, workers, Phase::Stop]
    };
    let work = (0..size.iterations.unwrap_or(1)).flat_map(move |_| {
        pass(plain, z, cipher)
            .into_iter()
            .chain(pass(cipher, dk, back))
    });
    let check = (0..n).flat_map(move |i| [plain.read(i, compare), back.read(i, compare)]);
    let phases = std::iter::once(Phase::Main(fill(vec![plain, cipher, back, z, dk], init)))
        .chain(work)
        .chain([Phase::Main(Box::new(check))]);
    program(b, phases)
}

/// Two arrays in blocks; the first worker does element 0 on its own.
pub(super) fn series(size: &Size) -> Program {
    let size = *size;
    let n = size.size.unwrap_or(100_000);
    let mut b = Builder::default();
    let a = [b.array("cos", 8, n), b.array("sin", 8, n)];
    let (init, first, rest, look) = (
        b.site("series init"),
        b.site("series first"),
        b.site("series coefficient"),
        b.site("series validate"),
    );
    let workers = each_worker(&size, |t| {
        let mut mine = share(a[0].len, t, u64::from(size.threads.max(1)));
        let mut head = None;
        if t == 0 {
            head = Some(a[0].write(0, first));
            mine.start = 1.min(mine.end);
        }
        let coefficients = mine.flat_map(move |i| [a[0].write(i, rest), a[1].write(i, rest)]);
        Box::new(head.into_iter().chain(coefficients))
    });
    let allocate = a.map(|array| array.alloc(init));
    let validate = (0..4.min(n)).flat_map(move |i| [a[0].read(i, look), a[1].read(i, look)]);
    let phases = [
        Phase::Main(Box::new(allocate.into_iter())),
        Phase::Start,
        workers,
        Phase::Stop,
        Phase::Main(Box::new(validate)),
    ];
    program(b, phases.into_iter())
}

/// For each column `k`: find the pivot, scale, then subtract from all later columns, below the diagonal only.
pub(super) fn lufact(size: &Size) -> Program {
    let size = *size;
    let n = size.size.unwrap_or(100).clamp(2, 20_000);
    let mut b = Builder::default();
    let columns: Vec<Array> = (0..n).map(|j| b.array(&format!("a{j}"), 8, n)).collect();
    let pivots = b.array("ipvt", 4, n);
    let init = b.site("lufact init");
    let (pivot, swap, scale) = (b.site("idamax"), b.site("dgefa swap"), b.site("dscal"));
    let (multiplier, subtract) = (b.site("dgefa t"), b.site("daxpy"));
    let all = columns.iter().copied().chain([pivots]).collect();
    let steps = (0..n - 1).flat_map(move |k| {
        let column = columns[k as usize];
        let mut alone: Vec<Work> = vec![Box::new(
            (k..n)
                .map(move |i| column.read(i, pivot))
                .chain([
                    pivots.write(k, swap),
                    column.read(k, swap),
                    column.write(k, swap),
                ])
                .chain(
                    (k + 1..n).flat_map(move |i| [column.read(i, scale), column.write(i, scale)]),
                ),
        )];
        alone.extend((1..size.threads).map(|_| Box::new(std::iter::empty()) as Work));
        let columns = columns.clone();
        let update = each_worker(&size, move |t| {
            let mine = share(n - k - 1, t, u64::from(size.threads.max(1)));
            let columns = columns.clone();
            Box::new(mine.flat_map(move |j| {
                let other = columns[(k + 1 + j) as usize];
                std::iter::once(other.read(k, multiplier)).chain((k + 1..n).flat_map(move |i| {
                    [
                        column.read(i, subtract),
                        other.read(i, subtract),
                        other.write(i, subtract),
                    ]
                }))
            }))
        });
        [Phase::Work(alone), Phase::Barrier, update, Phase::Barrier]
    });
    let phases = [Phase::Main(fill(all, init)), Phase::Start]
        .into_iter()
        .chain(steps)
        .chain([Phase::Stop]);
    program(b, phases)
}

/// Every worker has an array of all particles and three arrays of partial forces. Particle `i` meets those after it that are near enough: who
/// that is looks random. The first worker sums the partial forces up. (Positions are fields of the particles, not array elements.)
pub(super) fn moldyn(size: &Size) -> Program {
    let size = *size;
    let n = size.size.unwrap_or(256).max(1);
    let workers = u64::from(size.threads.max(1));
    let mut b = Builder::default();
    let particles: Vec<Array> = (0..workers)
        .map(|t| b.array(&format!("one{t}"), 8, n))
        .collect();
    let partial: Vec<[Array; 3]> = (0..workers)
        .map(|t| [0, 1, 2].map(|d| b.array(&format!("force2{d}{t}"), 8, n)))
        .collect();
    let force = [0, 1, 2].map(|d| b.array(&format!("force{d}"), 8, n));
    let init = b.site("moldyn init");
    let (domove, pair, add) = (b.site("domove"), b.site("force pair"), b.site("force add"));
    let (sum, clear, kinetic) = (b.site("force sum"), b.site("force clear"), b.site("mkekin"));
    let all = particles
        .iter()
        .chain(partial.iter().flatten())
        .copied()
        .chain(force)
        .collect();
    let steps = (0..size.iterations.unwrap_or(4)).flat_map(move |_| {
        let (particles, partial) = (particles.clone(), partial.clone());
        let interact = each_worker(&size, |t| {
            let (one, f) = (particles[t as usize], partial[t as usize]);
            let moves = (0..n).flat_map(move |i| {
                std::iter::once(one.read(i, domove)).chain(force.map(|f| f.read(i, domove)))
            });
            let mine = (t..n).step_by(workers as usize);
            let pairs = mine.flat_map(move |i| {
                let near = (i + 1..n).flat_map(move |j| {
                    let near = scatter(size.seed, i * n + j, 8) == 0;
                    let touched = f.map(|f| [f.read(j, add), f.write(j, add)]);
                    std::iter::once(one.read(j, pair))
                        .chain(touched.into_iter().flatten().filter(move |_| near))
                });
                std::iter::once(one.read(i, pair)).chain(near).chain(
                    f.into_iter()
                        .flat_map(move |f| [f.read(i, add), f.write(i, add)]),
                )
            });
            Box::new(moves.chain(pairs))
        });
        let partials = partial.clone();
        let mut reduce: Vec<Work> = vec![Box::new((0..n).flat_map(move |i| {
            let parts = partials.clone();
            parts
                .into_iter()
                .flatten()
                .flat_map(move |f| [f.read(i, sum), f.write(i, clear)])
                .chain(force.map(|f| f.write(i, sum)))
        }))];
        reduce.extend((1..workers).map(|_| Box::new(std::iter::empty()) as Work));
        let energy = each_worker(&size, |t| {
            let one = particles[t as usize];
            Box::new((0..n).flat_map(move |i| {
                std::iter::once(one.read(i, kinetic)).chain(force.map(|f| f.read(i, kinetic)))
            }))
        });
        [
            interact,
            Phase::Barrier,
            Phase::Work(reduce),
            Phase::Barrier,
            energy,
            Phase::Barrier,
        ]
    });
    let phases = [Phase::Main(fill(all, init)), Phase::Start]
        .into_iter()
        .chain(steps)
        .chain([Phase::Stop]);
    program(b, phases)
}

/// `size` tasks, dealt out in turn; each fills and reads a path of its own, then appends its result.
pub(super) fn montecarlo(size: &Size) -> Program {
    let size = *size;
    let tasks = size.size.unwrap_or(500).max(1);
    let steps = size.iterations.unwrap_or(1000).max(1);
    let workers = u64::from(size.threads.max(1));
    let mut b = Builder::default();
    let rates = b.array("rates", 8, steps);
    let results = b.array("results", 8, tasks);
    let paths: Vec<Array> = (0..workers)
        .map(|t| b.array(&format!("path{t}"), 8, steps))
        .collect();
    let init = b.site("montecarlo init");
    let (make, rate, fill_path) = (b.site("path new"), b.site("rate"), b.site("path fill"));
    let (average, append, drop_path) = (b.site("path mean"), b.site("append"), b.site("path gone"));
    let look = b.site("montecarlo result");
    let lock = b.lock("results");
    let run = each_worker(&size, |t| {
        let path = paths[t as usize];
        Box::new((t..tasks).step_by(workers as usize).flat_map(move |task| {
            std::iter::once(path.alloc(make))
                .chain(
                    (0..path.len)
                        .flat_map(move |i| [rates.read(i, rate), path.write(i, fill_path)]),
                )
                .chain((0..path.len).map(move |i| path.read(i, average)))
                .chain([
                    (Op::Acquire(lock), append),
                    results.write(task, append),
                    (Op::Release(lock), append),
                    path.free(drop_path),
                ])
        }))
    });
    let phases = [
        Phase::Main(fill(vec![rates, results], init)),
        Phase::Start,
        run,
        Phase::Stop,
        Phase::Main(Box::new((0..tasks).map(move |i| results.read(i, look)))),
    ];
    program(b, phases.into_iter())
}

/// Five entries in each row on average. The main thread sorts them by the worker that has their row, so that no two workers write the same
/// element; where one worker's entries end and the next one's begin is as random as the entries.
pub(super) fn sparse(size: &Size) -> Program {
    let size = *size;
    let n = size.size.unwrap_or(5_000).clamp(1, 1 << 28);
    let entries = 5 * n;
    let mut b = Builder::default();
    let unsorted = [("val0", 8), ("row0", 4), ("col0", 4)].map(|(a, e)| b.array(a, e, entries));
    let sorted = [("val", 8), ("row", 4), ("col", 4)].map(|(a, e)| b.array(a, e, entries));
    let (x, y) = (b.array("x", 8, n), b.array("y", 8, n));
    let init = b.site("sparse init");
    let (look, take, put) = (b.site("sort look"), b.site("sort take"), b.site("sort put"));
    let (index, operand, result) = (
        b.site("sparse index"),
        b.site("sparse x"),
        b.site("sparse y"),
    );
    let total = b.site("sparse total");
    let of = u64::from(size.threads.max(1));
    let worker_of = move |i: u64| scatter(size.seed + 2, i, of);
    let before = move |t: u64| (0..entries).filter(|&i| worker_of(i) < t).count() as u64;
    let allocate = sorted.map(|array| array.alloc(init));
    let sort = (0..of).flat_map(move |t| {
        let mut next = before(t);
        (0..entries).flat_map(move |i| {
            let taken = worker_of(i) == t;
            let at = next;
            next += u64::from(taken);
            let moved = unsorted.map(|from| from.read(i, take)).into_iter();
            let moved = moved.chain(sorted.map(|to| to.write(at % entries, put)));
            std::iter::once(unsorted[1].read(i, look)).chain(moved.filter(move |_| taken))
        })
    });
    let work = each_worker(&size, |t| {
        let rows = share(n, t, of);
        let width = rows.end - rows.start;
        let mine = before(t)..before(t + 1);
        let repeats = 0..size.iterations.unwrap_or(10);
        Box::new(repeats.flat_map(move |_| {
            let first = rows.start;
            mine.clone().flat_map(move |i| {
                let to = first + scatter(size.seed, i, width);
                let from = scatter(size.seed + 1, i, n);
                let [value, row, column] = sorted;
                [
                    row.read(i, index),
                    y.read(to, result),
                    column.read(i, index),
                    x.read(from, operand),
                    value.read(i, index),
                    y.write(to, result),
                ]
            })
        }))
    });
    let [v0, r0, c0] = unsorted;
    let phases = [
        Phase::Main(fill(vec![v0, r0, c0, x, y], init)),
        Phase::Main(Box::new(allocate.into_iter().chain(sort))),
        Phase::Start,
        work,
        Phase::Stop,
        Phase::Main(Box::new((0..n).map(move |i| y.read(i, total)))),
    ];
    program(b, phases.into_iter())
}

/// Odd rows, then even rows, each from its four neighbours; a barrier after each half.
pub(super) fn sor(size: &Size) -> Program {
    let size = *size;
    let n = size.size.unwrap_or(200).clamp(3, 50_000);
    let mut b = Builder::default();
    let rows: Vec<Array> = (0..n).map(|i| b.array(&format!("g{i}"), 8, n)).collect();
    let init = b.site("sor init");
    let (around, centre, total) = (
        b.site("sor around"),
        b.site("sor centre"),
        b.site("sor total"),
    );
    let all: Vec<Array> = rows.clone();
    let last = rows.clone();
    let of = u64::from(size.threads.max(1));
    let halves = (0..2 * size.iterations.unwrap_or(5)).flat_map(move |half| {
        let rows = rows.clone();
        let sweep = each_worker(&size, move |t| {
            let mine = share(n - 2, t, of);
            let rows = rows.clone();
            let parity = half % 2;
            Box::new(mine.filter(move |i| i % 2 == parity).flat_map(move |i| {
                let (up, row, down) =
                    (rows[i as usize], rows[i as usize + 1], rows[i as usize + 2]);
                (1..n - 1).flat_map(move |j| {
                    [
                        up.read(j, around),
                        down.read(j, around),
                        row.read(j - 1, around),
                        row.read(j + 1, around),
                        row.read(j, centre),
                        row.write(j, centre),
                    ]
                })
            }))
        });
        [sweep, Phase::Barrier]
    });
    let sum = last
        .into_iter()
        .flat_map(move |row| (1..n - 1).map(move |j| row.read(j, total)));
    let phases = [Phase::Main(fill(all, init)), Phase::Start]
        .into_iter()
        .chain(halves)
        .chain([Phase::Stop, Phase::Main(Box::new(sum))]);
    program(b, phases)
}

/// `size` rows of `size` pixels, dealt out in turn. Every worker has an array for all of them and fills its beginning; every pixel looks at
/// all 64 things in the scene.
pub(super) fn raytracer(size: &Size) -> Program {
    let size = *size;
    let n = size.size.unwrap_or(150).clamp(1, 1 << 14);
    let workers = u64::from(size.threads.max(1));
    let mut b = Builder::default();
    let scene = b.array("scene", 8, 64);
    let pixels: Vec<Array> = (0..workers)
        .map(|t| b.array(&format!("row{t}"), 4, n * n))
        .collect();
    let checksum = b.array("checksum", 8, 1);
    let init = b.site("raytracer scene");
    let (make, hit, shade) = (b.site("row new"), b.site("intersect"), b.site("shade"));
    let (check, gone) = (b.site("checksum"), b.site("row gone"));
    let lock = b.lock("checksum");
    let render = each_worker(&size, |t| {
        let row = pixels[t as usize];
        let mine = (t..n).step_by(workers as usize).count() as u64 * n;
        let render = (0..mine).flat_map(move |x| {
            let looks = (0..64).map(move |i| scene.read(i, hit));
            looks.chain([row.write(x, shade)])
        });
        let add = [
            (Op::Acquire(lock), check),
            checksum.read(0, check),
            checksum.write(0, check),
            (Op::Release(lock), check),
            row.free(gone),
        ];
        Box::new(std::iter::once(row.alloc(make)).chain(render).chain(add))
    });
    let phases = [
        Phase::Main(fill(vec![scene, checksum], init)),
        Phase::Start,
        render,
        Phase::Stop,
        Phase::Main(Box::new(std::iter::once(checksum.read(0, check)))),
    ];
    program(b, phases.into_iter())
}
