// fetch_max is a read-modify-write like any other: against a plain read it races.
// tsan: misses (atomic min and max are not instrumented)
#include "two_threads.h"

int shared;

static void *writer(void *arg) {
  __atomic_fetch_max(&shared, 5, __ATOMIC_SEQ_CST); // RACE a
  invisible_signal(1);
  return arg;
}

static void *reader(void *arg) {
  invisible_wait(1);
  invisible_use(shared); // RACE a
  return arg;
}

int main(void) { run2(writer, reader); }
