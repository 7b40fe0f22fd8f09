// An atomic store and a plain load of the same variable race: one atomic side is not enough.
#include "two_threads.h"
#include <stdatomic.h>

int shared;

static void *writer(void *arg) {
  __atomic_store_n(&shared, 1, __ATOMIC_SEQ_CST); // RACE a
  invisible_signal(1);
  return arg;
}

static void *reader(void *arg) {
  invisible_wait(1);
  invisible_use(shared); // RACE a
  return arg;
}

int main(void) { run2(writer, reader); }
