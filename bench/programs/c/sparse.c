// Sparse matrix times vector, 20 times: SIZE rows with 5 entries each in coordinate form, sorted by row; each thread has the
// entries of its own rows. Values are small whole numbers, so that the sum is exact.
// Default 200,000 rows; large: 1,000,000 (5 million entries, 96 MB).
// Seeded race: entries are divided evenly, so a row at a boundary belongs to two threads.
#include "bench.h"

enum { PER_ROW = 5, ROUNDS = 20 };
static double *value, *x, *y;
static int *row, *col;

static void work(int thread) {
  long entries = bench_size * PER_ROW, from, to;
  bench_slice(thread, entries, &from, &to);
  if (seeded_race && thread > 0)
    from = from / PER_ROW * PER_ROW - 2;
  else
    from = from / PER_ROW * PER_ROW;
  to = to / PER_ROW * PER_ROW;
  for (int round = 0; round < ROUNDS; round++)
    for (long i = from; i < to; i++)
      y[row[i]] += x[col[i]] * value[i]; // RACE
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 200000);
  long entries = bench_size * PER_ROW;
  value = bench_alloc(entries * sizeof *value);
  row = bench_alloc(entries * sizeof *row);
  col = bench_alloc(entries * sizeof *col);
  x = bench_alloc(bench_size * sizeof *x);
  y = bench_alloc(bench_size * sizeof *y);
  uint64_t seed = 10101010;
  for (long i = 0; i < bench_size; i++)
    x[i] = (double)(bench_random(&seed) % 10);
  double expected = 0;
  for (long i = 0; i < entries; i++) {
    row[i] = (int)(i / PER_ROW);
    col[i] = (int)(bench_random(&seed) % (uint64_t)bench_size);
    value[i] = (double)(bench_random(&seed) % 10);
    expected += x[col[i]] * value[i];
  }
  bench_parallel(work);
  double sum = 0;
  for (long i = 0; i < bench_size; i++)
    sum += y[i];
  return bench_end("sparse", sum, sum == expected * ROUNDS);
}
