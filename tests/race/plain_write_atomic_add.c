// A plain store and an atomic read-modify-write of the same variable race.
#include "two_threads.h"

int shared;

static void *writer(void *arg) {
  shared = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *adder(void *arg) {
  invisible_wait(1);
  __atomic_fetch_add(&shared, 1, __ATOMIC_SEQ_CST); // RACE a
  return arg;
}

int main(void) { run2(writer, adder); }
