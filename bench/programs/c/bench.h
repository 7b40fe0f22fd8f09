// What the benchmark programs share: `NAME THREADS SIZE`, threads, random numbers, and the verdict at the end.
//
// Each program prints `NAME threads=T size=S checksum=…` and ends with 0 if the result is right, 1 if not, 2 for bad
// arguments. Built with -DSEEDED_RACE one lock or barrier is missing: the lines marked `// RACE` race, and what depends on
// them may too. The result is then not judged.
#ifndef FOOTRACE_BENCH_H
#define FOOTRACE_BENCH_H

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SEEDED_RACE
enum { seeded_race = 1 };
#else
enum { seeded_race = 0 };
#endif

static int bench_threads = 4;
static long bench_size;

static inline void bench_arguments(int argc, char **argv, long default_size) {
  bench_threads = argc > 1 ? atoi(argv[1]) : 4;
  bench_size = argc > 2 ? atol(argv[2]) : default_size;
  if (argc > 3 || bench_threads < 1 || bench_threads > 256 || bench_size < 1) {
    fprintf(stderr, "usage: %s [THREADS [SIZE]], 1 to 256 threads, size %ld unless given\n", argv[0], default_size);
    exit(2);
  }
}

static inline void *bench_alloc(size_t bytes) {
  void *block = calloc(1, bytes);
  if (!block) {
    fprintf(stderr, "no memory for %zu bytes\n", bytes);
    exit(2);
  }
  return block;
}

typedef void bench_body(int thread);

struct bench_start {
  bench_body *body;
  int thread;
};

static void *bench_enter(void *arg) {
  struct bench_start *start = arg;
  start->body(start->thread);
  return 0;
}

// Runs body(0), body(1), … each in a thread of its own, and joins them.
static inline void bench_parallel(bench_body *body) {
  pthread_t threads[256];
  struct bench_start starts[256];
  for (int i = 0; i < bench_threads; i++) {
    starts[i] = (struct bench_start){body, i};
    if (pthread_create(&threads[i], 0, bench_enter, &starts[i])) {
      fprintf(stderr, "cannot create thread %d\n", i);
      exit(2);
    }
  }
  for (int i = 0; i < bench_threads; i++)
    pthread_join(threads[i], 0);
}

// The part [*from, *to) of n items that belongs to a thread.
static inline void bench_slice(int thread, long n, long *from, long *to) {
  *from = n * thread / bench_threads;
  *to = n * (thread + 1) / bench_threads;
}

static pthread_barrier_t bench_barrier;

static inline void bench_barrier_init(void) { pthread_barrier_init(&bench_barrier, 0, (unsigned)bench_threads); }
static inline void bench_wait(void) { pthread_barrier_wait(&bench_barrier); }

// SplitMix64: a stream for each seed.
static inline uint64_t bench_random(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static inline double bench_uniform(uint64_t *state) { return (double)(bench_random(state) >> 11) * 0x1p-53; }

static inline int bench_end(const char *name, double checksum, int right) {
  printf("%s threads=%d size=%ld checksum=%.12g%s\n", name, bench_threads, bench_size, checksum,
         right || seeded_race ? "" : " WRONG");
  return right || seeded_race ? 0 : 1;
}

#endif
