// Two unordered reads from two lines, then a write: the write races with both reads, two pairs.
// tsan: misses (one report for an access, whatever the number of racing partners)
#include "two_threads.h"

int shared;

static void *left(void *arg) {
  invisible_use(shared); // RACE a
  invisible_signal(1);
  invisible_wait(3);
  return arg;
}

static void *right(void *arg) {
  invisible_wait(1);
  invisible_use(shared); // RACE b
  invisible_signal(2);
  invisible_wait(3);
  return arg;
}

static void *writer(void *arg) {
  invisible_wait(2);
  shared = 1; // RACE a b
  invisible_signal(3);
  return arg;
}

int main(void) {
  pthread_t w = start(writer);
  run2(left, right);
  pthread_join(w, 0);
}
