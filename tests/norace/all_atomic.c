// All accesses are atomic and relaxed: unordered, but no race.
#include "two_threads.h"

int shared;

static void *first(void *arg) {
  __atomic_store_n(&shared, 1, __ATOMIC_RELAXED);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  __atomic_store_n(&shared, 2, __ATOMIC_RELAXED);
  __atomic_fetch_add(&shared, 2, __ATOMIC_RELAXED);
  return arg;
}

int main(void) {
  run2(first, second);
}
