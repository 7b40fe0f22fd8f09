// The reader looks at the data before it acquires and writes it after: the early read races, although the later write
// of the same address in the same block does not.
// tsan: misses (the read is left out because a write of the same address follows, across an acquire)
#include "two_threads.h"
#include <stdatomic.h>

int data;
atomic_int flag;

static void *producer(void *arg) {
  data = 1; // RACE a
  atomic_store_explicit(&flag, 1, memory_order_release);
  invisible_signal(1);
  return arg;
}

static __attribute__((noinline)) void consume(int *where, atomic_int *ready) {
  int early = *where; // RACE a
  int add = atomic_load_explicit(ready, memory_order_acquire);
  *where = early + add;
}

static void *consumer(void *arg) {
  invisible_wait(1);
  consume(&data, &flag);
  return arg;
}

int main(void) { run2(producer, consumer); }
