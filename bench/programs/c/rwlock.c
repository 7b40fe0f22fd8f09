// Readers and a few writers of one table under a reader-writer lock: SIZE operations, one in a hundred writes.
// Default 2,000,000; large: 20,000,000.
// Seeded race: readers look again after they unlock.
#include "bench.h"

enum { CELLS = 64 };
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long table[CELLS], version;
static long wrong[256];

static void work(int thread) {
  uint64_t seed = thread;
  long from, to, bad = 0, seen = 0;
  bench_slice(thread, bench_size, &from, &to);
  for (long i = from; i < to; i++) {
    if (i % 100 == 0) {
      pthread_rwlock_wrlock(&lock);
      version++;
      for (int k = 0; k < CELLS; k++)
        table[k] = version; // RACE
      pthread_rwlock_unlock(&lock);
    } else {
      int k = (int)(bench_random(&seed) % (CELLS - 4));
      pthread_rwlock_rdlock(&lock);
      for (int j = 1; j < 4; j++)
        bad += table[k] != table[k + j];
      pthread_rwlock_unlock(&lock);
      if (seeded_race)
        seen += table[k]; // RACE
    }
  }
  wrong[thread] = bad + (seen < 0);
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 2000000);
  bench_parallel(work);
  long bad = 0;
  for (int i = 0; i < bench_threads; i++)
    bad += wrong[i];
  return bench_end("rwlock", (double)version, bad == 0 && version == (bench_size + 99) / 100);
}
