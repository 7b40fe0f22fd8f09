//! Molecular dynamics: 4 * SIZE^3 particles in a periodic box, Lennard-Jones forces with a cut-off, velocity Verlet steps.
//! Default 8 (2,048 particles); large: 13. Seeded race: the barrier between summing and reducing is missing.
use common::{Arguments, Field, Random};
use std::process::ExitCode;
use std::sync::Barrier;
use std::thread;

const SEEDED: bool = cfg!(feature = "seeded_race");
const STEPS: usize = 20;
const DENSITY: f64 = 0.83134;
const STEP: f64 = 0.002;

#[derive(Clone, Copy, Default)]
struct Particle {
    x: [f64; 3],
    v: [f64; 3],
    f: [f64; 3],
}

struct World {
    particles: Field<Particle>,
    partial: Vec<Field<[f64; 3]>>,
    potentials: Field<f64>,
    energies: Field<f64>,
    side: f64,
    barrier: Barrier,
}

fn forces(me: usize, threads: usize, world: &World) {
    let count = world.particles.len();
    let own = &world.partial[me];
    for i in 0..count {
        own.set(i, [0.0; 3]);
    }
    let side = world.side;
    let cut2 = (side / 2.0).min(3.0).powi(2);
    let cut6 = 1.0 / (cut2 * cut2 * cut2);
    let mut potential = 0.0;
    for i in (me..count).step_by(threads) {
        let a = world.particles.get(i).x;
        let mut sum = [0.0; 3];
        for j in i + 1..count {
            let b = world.particles.get(j).x;
            let mut d = [0.0; 3];
            for k in 0..3 {
                d[k] = a[k] - b[k];
                if d[k] < -side / 2.0 {
                    d[k] += side;
                }
                if d[k] > side / 2.0 {
                    d[k] -= side;
                }
            }
            let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            if r2 > cut2 {
                continue;
            }
            let i2 = 1.0 / r2;
            let i6 = i2 * i2 * i2;
            // Shifted, so that the energy does not jump at the cut-off.
            potential += 4.0 * (i6 * (i6 - 1.0) - cut6 * (cut6 - 1.0));
            let force = 48.0 * i2 * i6 * (i6 - 0.5);
            let mut other = own.get(j);
            for k in 0..3 {
                sum[k] += force * d[k];
                other[k] -= force * d[k];
            }
            own.set(j, other); // RACE
        }
        let mut f = own.get(i);
        for k in 0..3 {
            f[k] += sum[k];
        }
        own.set(i, f);
    }
    world.potentials.set(me, potential);
}

fn work(me: usize, arguments: Arguments, world: &World) {
    let count = world.particles.len();
    for t in 0..=STEPS {
        forces(me, arguments.threads, world);
        if !SEEDED {
            world.barrier.wait();
        }
        for i in arguments.slice(me, count) {
            let mut p = world.particles.get(i);
            p.f = [0.0; 3];
            for partial in &world.partial {
                let f = partial.get(i); // RACE
                for k in 0..3 {
                    p.f[k] += f[k];
                }
            }
            if t > 0 {
                for k in 0..3 {
                    p.v[k] += p.f[k] * STEP / 2.0;
                }
            }
            world.particles.set(i, p);
        }
        world.barrier.wait();
        if me == 0 {
            let mut energy: f64 = (0..arguments.threads)
                .map(|t| world.potentials.get(t))
                .sum();
            for i in 0..count {
                energy += world
                    .particles
                    .get(i)
                    .v
                    .iter()
                    .map(|v| v * v / 2.0)
                    .sum::<f64>();
            }
            world.energies.set(t, energy);
        }
        world.barrier.wait();
        for i in arguments.slice(me, count) {
            let mut p = world.particles.get(i);
            for k in 0..3 {
                p.v[k] += p.f[k] * STEP / 2.0;
                p.x[k] += p.v[k] * STEP;
                p.x[k] -= world.side * (p.x[k] / world.side).floor();
            }
            world.particles.set(i, p);
        }
        world.barrier.wait();
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::read(8);
    let m = arguments.size;
    let count = 4 * m * m * m;
    let side = (count as f64 / DENSITY).cbrt();
    // A face-centred cubic lattice, and velocities whose sum is zero.
    let corners = [
        [0.0, 0.0, 0.0],
        [0.5, 0.5, 0.0],
        [0.5, 0.0, 0.5],
        [0.0, 0.5, 0.5],
    ];
    let mut random = Random(42);
    let mut particles: Vec<Particle> = Vec::with_capacity(count);
    for i in 0..m * m * m {
        let cell = [i % m, i / m % m, i / m / m];
        for corner in corners {
            let mut p = Particle::default();
            for k in 0..3 {
                p.x[k] = (cell[k] as f64 + corner[k]) * side / m as f64;
                p.v[k] = match particles.last() {
                    Some(last) if particles.len() % 2 == 1 => -last.v[k],
                    _ => random.uniform() - 0.5,
                };
            }
            particles.push(p);
        }
    }
    let world = World {
        particles: Field::new(particles),
        partial: (0..arguments.threads)
            .map(|_| Field::new(vec![[0.0; 3]; count]))
            .collect(),
        potentials: Field::new(vec![0.0; arguments.threads]),
        energies: Field::new(vec![0.0; STEPS + 1]),
        side,
        barrier: Barrier::new(arguments.threads),
    };
    thread::scope(|scope| {
        for me in 0..arguments.threads {
            let world = &world;
            scope.spawn(move || work(me, arguments, world));
        }
    });
    let (first, last) = (world.energies.get(0), world.energies.get(STEPS));
    let right = (last - first).abs() / first.abs() < 2e-3;
    arguments.end(
        "moldyn",
        (last / count as f64 * 1e6).round() / 1e6,
        right,
        SEEDED,
    )
}
