// Barriers: SIZE rounds; in each a thread writes its cell and reads its neighbour's of the round before.
// Default 6,000; large: 500,000.
// Seeded race: the second barrier of a round is missing.
#include "bench.h"

struct cell {
  long value;
  char padding[56];
};
static struct cell *cells;
// volatile: the seeded variant is not judged by it, and a compiler would drop the reads that race.
static volatile long wrong[256];

static void work(int thread) {
  int neighbour = (thread + 1) % bench_threads;
  long bad = 0;
  for (long round = 1; round <= bench_size; round++) {
    cells[thread].value = round; // RACE
    bench_wait();
    bad += cells[neighbour].value != round; // RACE
    if (!seeded_race)
      bench_wait();
  }
  wrong[thread] = bad;
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 6000);
  cells = bench_alloc(bench_threads * sizeof *cells);
  bench_barrier_init();
  bench_parallel(work);
  long bad = 0;
  for (int i = 0; i < bench_threads; i++)
    bad += wrong[i];
  return bench_end("barriers", (double)cells[0].value, bad == 0);
}
