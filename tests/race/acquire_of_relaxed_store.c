// The reader acquires, but the writer's store was relaxed: there is nothing to acquire.
#include "two_threads.h"
#include <stdatomic.h>

int data;
atomic_int flag;

static void *producer(void *arg) {
  data = 1; // RACE a
  atomic_store_explicit(&flag, 1, memory_order_relaxed);
  invisible_signal(1);
  return arg;
}

static void *consumer(void *arg) {
  invisible_wait(1);
  if (atomic_load_explicit(&flag, memory_order_acquire))
    invisible_use(data); // RACE a
  return arg;
}

int main(void) { run2(producer, consumer); }
