// Successive over-relaxation on a SIZE x SIZE grid, 50 red-black iterations: each thread has a band of rows, a barrier after
// each colour. The result does not depend on the number of threads.
// Default 850; large: 2600 (54 MB).
// Seeded race: the barrier between the colours is missing.
#include "bench.h"

enum { ITERATIONS = 50 };
static double **grid;
static const double omega = 1.25;

static void work(int thread) {
  long from, to;
  bench_slice(thread, bench_size - 2, &from, &to);
  for (int iteration = 0; iteration < ITERATIONS; iteration++)
    for (int colour = 0; colour < 2; colour++) {
      for (long i = from + 1; i < to + 1; i++) {
        double *above = grid[i - 1], *here = grid[i], *below = grid[i + 1];
        for (long j = 1 + (i + colour) % 2; j < bench_size - 1; j += 2)
          here[j] = omega / 4 * (above[j] + below[j] + here[j - 1] + here[j + 1]) + (1 - omega) * here[j]; // RACE
      }
      if (!seeded_race || colour == 1)
        bench_wait();
    }
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 850);
  if (bench_size < 3)
    bench_size = 3;
  grid = bench_alloc(bench_size * sizeof *grid);
  uint64_t seed = 101;
  double largest = 0;
  for (long i = 0; i < bench_size; i++) {
    grid[i] = bench_alloc(bench_size * sizeof **grid);
    for (long j = 0; j < bench_size; j++) {
      grid[i][j] = bench_uniform(&seed) * 1e-6;
      largest = fmax(largest, grid[i][j]);
    }
  }
  bench_barrier_init();
  bench_parallel(work);
  double sum = 0, residual = 0;
  for (long i = 0; i < bench_size; i++)
    for (long j = 0; j < bench_size; j++) {
      sum += grid[i][j];
      if (i > 0 && j > 0 && i < bench_size - 1 && j < bench_size - 1)
        residual += fabs(grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1] - 4 * grid[i][j]);
    }
  residual /= (double)bench_size * bench_size;
  // Relaxation smooths: at the start the mean residual is about half of the largest value.
  int right = residual < largest / 20;
  // With the default size the sum is known, whatever the number of threads.
  if (bench_size == 850)
    right &= fabs(sum - 0.361008614497) < 1e-11;
  return bench_end("sor", sum, right);
}
