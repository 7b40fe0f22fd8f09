// A plain store and an atomic load of the same variable race.
#include "two_threads.h"

int shared;

static void *writer(void *arg) {
  shared = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *reader(void *arg) {
  invisible_wait(1);
  invisible_use(__atomic_load_n(&shared, __ATOMIC_SEQ_CST)); // RACE a
  return arg;
}

int main(void) { run2(writer, reader); }
