// What one synchronising operation costs a thread, in nanoseconds of its processor time: `sync [OPERATIONS]`.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static atomic_int counter, flag;
static atomic_long many[64];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int value;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1e9 + time.tv_nsec;
}

static void *nothing(void *arg) { return arg; }

static void try(int i) {
  int expected = i;
  atomic_compare_exchange_strong_explicit(&counter, &expected, i, memory_order_acq_rel, memory_order_acquire);
}

#define MEASURE(name, operation)                                                                                       \
  do {                                                                                                                 \
    double start = now();                                                                                              \
    for (int i = 0; i < n; i++)                                                                                        \
      operation;                                                                                                       \
    printf("%-28s %6.1f\n", name, (now() - start) / n);                                                                \
  } while (0)

int main(int count, char **arguments) {
  int n = count > 1 ? atoi(arguments[1]) : 3000000;
  // From here on the program has had two threads.
  pthread_t thread;
  pthread_create(&thread, 0, nothing, 0);
  pthread_join(thread, 0);
  MEASURE("add, relaxed", atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed));
  MEASURE("add, seq_cst", atomic_fetch_add(&counter, 1));
  atomic_store(&flag, 1);
  MEASURE("load, acquire", atomic_load_explicit(&flag, memory_order_acquire));
  MEASURE("load, relaxed", atomic_load_explicit(&flag, memory_order_relaxed));
  MEASURE("store, release", atomic_store_explicit(&flag, i, memory_order_release));
  MEASURE("store, seq_cst", atomic_store(&flag, i));
  MEASURE("store, relaxed", atomic_store_explicit(&flag, i, memory_order_relaxed));
  MEASURE("compare-exchange that fails", try(i));
  MEASURE("adds to 64, relaxed", atomic_fetch_add_explicit(&many[i % 64], 1, memory_order_relaxed));
  MEASURE("adds to 64, seq_cst", atomic_fetch_add(&many[i % 64], 1));
  MEASURE("write, then add, seq_cst", (value = i, atomic_fetch_add(&counter, 1)));
  MEASURE("lock, write, unlock", (pthread_mutex_lock(&mutex), value++, pthread_mutex_unlock(&mutex)));
}
