// Two threads add in turn, the second after the first by the very operation; the plain read that follows comes after neither.
#include "two_threads.h"

int shared;

static void *first(void *arg) {
  __atomic_fetch_add(&shared, 1, __ATOMIC_ACQ_REL);
  invisible_signal(1);
  invisible_wait(2);
  invisible_use(shared); // RACE a
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  __atomic_fetch_add(&shared, 1, __ATOMIC_ACQ_REL); // RACE a
  invisible_signal(2);
  return arg;
}

int main(void) { run2(first, second); }
