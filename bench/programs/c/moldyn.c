// Molecular dynamics: 4 * SIZE^3 argon-like particles in a periodic box, Lennard-Jones forces with a cut-off, velocity
// Verlet steps. Each thread sums forces into an array of its own, then all reduce. Structures of particles, as objects.
// Default 8 (2,048 particles); large: 13 (8,788 particles; arrays stay below 10 MB, the work is quadratic).
// Seeded race: the barrier between summing and reducing is missing.
#include "bench.h"

struct particle {
  double x[3], v[3], f[3];
};
static struct particle *particles;
static double **partial, *potentials;
static long count;
static double side;
enum { STEPS = 20 };
static const double density = 0.83134, step = 0.002;
static double energies[STEPS + 1];

static void forces(int thread) {
  double *own = partial[thread], cut = fmin(side / 2, 3.0), potential = 0;
  memset(own, 0, count * 3 * sizeof *own);
  for (long i = thread; i < count; i += bench_threads) {
    struct particle *a = &particles[i];
    double fx = 0, fy = 0, fz = 0;
    for (long j = i + 1; j < count; j++) {
      struct particle *b = &particles[j];
      double d[3];
      for (int k = 0; k < 3; k++) {
        d[k] = a->x[k] - b->x[k];
        if (d[k] < -side / 2)
          d[k] += side;
        if (d[k] > side / 2)
          d[k] -= side;
      }
      double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
      if (r2 > cut * cut)
        continue;
      double inverse2 = 1 / r2, inverse6 = inverse2 * inverse2 * inverse2;
      // Shifted, so that the energy does not jump at the cut-off.
      double cut6 = 1 / (cut * cut * cut * cut * cut * cut);
      potential += 4 * (inverse6 * (inverse6 - 1) - cut6 * (cut6 - 1));
      double force = 48 * inverse2 * inverse6 * (inverse6 - 0.5);
      fx += force * d[0];
      fy += force * d[1];
      fz += force * d[2];
      own[3 * j] -= force * d[0]; // RACE
      own[3 * j + 1] -= force * d[1];
      own[3 * j + 2] -= force * d[2];
    }
    own[3 * i] += fx;
    own[3 * i + 1] += fy;
    own[3 * i + 2] += fz;
  }
  potentials[thread] = potential;
}

static void work(int thread) {
  long from, to;
  bench_slice(thread, count, &from, &to);
  for (int t = 0; t <= STEPS; t++) {
    forces(thread);
    if (!seeded_race)
      bench_wait();
    for (long i = from; i < to; i++)
      for (int k = 0; k < 3; k++) {
        double f = 0;
        for (int other = 0; other < bench_threads; other++)
          f += partial[other][3 * i + k]; // RACE
        struct particle *p = &particles[i];
        // Second half of the last step, first half of the next.
        if (t > 0)
          p->v[k] += f * step / 2;
        p->f[k] = f;
      }
    bench_wait();
    if (thread == 0) {
      double energy = 0;
      for (int other = 0; other < bench_threads; other++)
        energy += potentials[other];
      for (long i = 0; i < count; i++)
        for (int k = 0; k < 3; k++)
          energy += particles[i].v[k] * particles[i].v[k] / 2;
      energies[t] = energy;
    }
    bench_wait();
    for (long i = from; i < to; i++)
      for (int k = 0; k < 3; k++) {
        struct particle *p = &particles[i];
        p->v[k] += p->f[k] * step / 2;
        p->x[k] += p->v[k] * step;
        p->x[k] -= side * floor(p->x[k] / side);
      }
    bench_wait();
  }
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 8);
  long m = bench_size;
  count = 4 * m * m * m;
  side = cbrt(count / density);
  particles = bench_alloc(count * sizeof *particles);
  partial = bench_alloc(bench_threads * sizeof *partial);
  potentials = bench_alloc(bench_threads * sizeof *potentials);
  for (int t = 0; t < bench_threads; t++)
    partial[t] = bench_alloc(count * 3 * sizeof **partial);
  // A face-centred cubic lattice, and velocities whose sum is zero.
  static const double corner[4][3] = {{0, 0, 0}, {0.5, 0.5, 0}, {0.5, 0, 0.5}, {0, 0.5, 0.5}};
  uint64_t seed = 42;
  long at = 0;
  for (long i = 0; i < m * m * m; i++)
    for (int c = 0; c < 4; c++, at++)
      for (int k = 0; k < 3; k++) {
        long cell = k == 0 ? i % m : k == 1 ? i / m % m : i / m / m;
        particles[at].x[k] = (cell + corner[c][k]) * side / m;
        particles[at].v[k] = at % 2 ? -particles[at - 1].v[k] : bench_uniform(&seed) - 0.5;
      }
  bench_barrier_init();
  bench_parallel(work);
  double drift = fabs(energies[STEPS] - energies[0]) / fabs(energies[0]);
  return bench_end("moldyn", round(energies[STEPS] / count * 1e6) / 1e6, drift < 2e-3);
}
