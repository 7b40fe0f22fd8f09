// LU factorisation with partial pivoting of a SIZE x SIZE matrix and the solution of one system. One thread finds the pivot
// and scales its column, then all update the columns to the right, with a barrier between.
// Default 500; large: 2600 (54 MB).
// Seeded race: the barrier before the update is missing. (Without the one after it there is no race: the column that
// thread 0 scales next is the one that it updated itself.)
#include "bench.h"

static double **column, *right_side, *original, *original_side;
static int *pivots;

static void factorise(int thread) {
  long n = bench_size;
  for (long k = 0; k < n - 1; k++) {
    if (thread == 0) {
      long best = k;
      for (long i = k + 1; i < n; i++)
        if (fabs(column[k][i]) > fabs(column[k][best]))
          best = i;
      pivots[k] = (int)best;
      double pivot = column[k][best];
      column[k][best] = column[k][k];
      column[k][k] = pivot;
      for (long i = k + 1; i < n; i++)
        column[k][i] = -column[k][i] / pivot; // RACE
    }
    if (!seeded_race)
      bench_wait();
    long best = pivots[k];
    for (long j = k + 1 + thread; j < n; j += bench_threads) {
      double factor = column[j][best];
      column[j][best] = column[j][k];
      column[j][k] = factor;
      const double *scaled = column[k];
      for (long i = k + 1; i < n; i++)
        column[j][i] += factor * scaled[i]; // RACE
    }
    bench_wait();
  }
}

static void solve(void) {
  long n = bench_size;
  for (long k = 0; k < n - 1; k++) {
    double t = right_side[pivots[k]];
    right_side[pivots[k]] = right_side[k];
    right_side[k] = t;
    for (long i = k + 1; i < n; i++)
      right_side[i] += t * column[k][i];
  }
  for (long k = n - 1; k >= 0; k--) {
    right_side[k] /= column[k][k];
    for (long i = 0; i < k; i++)
      right_side[i] -= right_side[k] * column[k][i];
  }
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 500);
  long n = bench_size;
  column = bench_alloc(n * sizeof *column);
  right_side = bench_alloc(n * sizeof *right_side);
  original_side = bench_alloc(n * sizeof *original_side);
  original = bench_alloc(n * n * sizeof *original);
  pivots = bench_alloc(n * sizeof *pivots);
  uint64_t seed = 1325;
  for (long j = 0; j < n; j++) {
    column[j] = bench_alloc(n * sizeof **column);
    for (long i = 0; i < n; i++)
      original[j * n + i] = column[j][i] = bench_uniform(&seed) - 0.5;
  }
  for (long i = 0; i < n; i++) {
    double sum = 0;
    for (long j = 0; j < n; j++)
      sum += column[j][i];
    original_side[i] = right_side[i] = sum;
  }
  bench_barrier_init();
  bench_parallel(factorise);
  solve();
  // The right side was made for the solution 1, 1, 1, …
  double worst = 0, checksum = 0;
  for (long i = 0; i < n; i++) {
    double row = -original_side[i];
    for (long j = 0; j < n; j++)
      row += original[j * n + i] * right_side[j];
    worst = fmax(worst, fabs(row));
    checksum += right_side[i];
  }
  return bench_end("lufact", round(checksum * 1e3) / 1e3, worst < 1e-9 * n && fabs(checksum - n) < 1e-3 * n);
}
