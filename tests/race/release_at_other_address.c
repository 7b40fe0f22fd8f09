// The writer releases one atomic, the reader acquires another one.
#include "two_threads.h"
#include <stdatomic.h>

int data;
atomic_int left, right;

static void *producer(void *arg) {
  data = 1; // RACE a
  atomic_store_explicit(&left, 1, memory_order_release);
  atomic_store_explicit(&right, 1, memory_order_relaxed);
  invisible_signal(1);
  return arg;
}

static void *consumer(void *arg) {
  invisible_wait(1);
  if (atomic_load_explicit(&right, memory_order_acquire))
    invisible_use(data); // RACE a
  return arg;
}

int main(void) { run2(producer, consumer); }
