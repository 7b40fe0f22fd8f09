// Atomic counters: relaxed adds, acquire and release exchanges, compare-exchange loops on shared words, SIZE operations.
// Default 3,000,000; large: 50,000,000.
// Seeded race: one of the counters is a plain variable.
#include "bench.h"
#include <stdatomic.h>

static atomic_long added, exchanged, looped, highest;
static long plain;

static void work(int thread) {
  long from, to;
  bench_slice(thread, bench_size, &from, &to);
  for (long i = from; i < to; i++) {
    // Before the first acquire, so that it races even if the threads run one after the other.
    if (seeded_race)
      plain++; // RACE
    switch (i % 4) {
    case 0:
      atomic_fetch_add_explicit(&added, 1, memory_order_relaxed);
      break;
    case 1:
      atomic_fetch_add_explicit(&exchanged, 1, memory_order_acq_rel);
      break;
    case 2: {
      long old = atomic_load_explicit(&looped, memory_order_relaxed);
      while (!atomic_compare_exchange_weak_explicit(&looped, &old, old + 1, memory_order_release, memory_order_relaxed))
        ;
      break;
    }
    default:
      atomic_store_explicit(&highest, i, memory_order_release);
      (void)atomic_load_explicit(&highest, memory_order_acquire);
    }
  }
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 3000000);
  bench_parallel(work);
  long sum = added + exchanged + looped, expected = 0;
  for (long i = 0; i < bench_size; i++)
    expected += i % 4 != 3;
  return bench_end("counters", (double)sum, sum == expected);
}
