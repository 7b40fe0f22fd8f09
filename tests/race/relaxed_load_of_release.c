// The writer releases, but the reader's load is relaxed.
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

static void *consumer(void *arg) {
  invisible_wait(1);
  if (atomic_load_explicit(&flag, memory_order_relaxed))
    invisible_use(data); // RACE a
  return arg;
}

int main(void) { run2(producer, consumer); }
