// An acquire fence covers the loads before it. Here the flag's load comes after it.
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
  atomic_thread_fence(memory_order_acquire);
  if (atomic_load_explicit(&flag, memory_order_relaxed))
    invisible_use(data); // RACE a
  return arg;
}

int main(void) { run2(producer, consumer); }
