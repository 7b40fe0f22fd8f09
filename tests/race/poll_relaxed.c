// A flag is polled for long, with acquire first, then relaxed: what was published is seen, but not ordered.
#include "two_threads.h"

int flag, data;

static void *producer(void *arg) {
  invisible_wait(1);
  data = 1; // RACE a
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  return arg;
}

static void *consumer(void *arg) {
  for (int i = 0; i < 1000; i++)
    __atomic_load_n(&flag, __ATOMIC_ACQUIRE);
  invisible_signal(1);
  while (__atomic_load_n(&flag, __ATOMIC_RELAXED) == 0) {
  }
  invisible_use(data); // RACE a
  return arg;
}

int main(void) { run2(producer, consumer); }
