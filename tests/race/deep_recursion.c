// Both accesses happen five thousand calls deep: the stacks are long, the race is the same.
#include "two_threads.h"

int shared;

static __attribute__((noinline)) int descend(int depth, int value) {
  if (depth == 0) {
    shared = value; // RACE a
    return 1;
  }
  int below = descend(depth - 1, value);
  invisible_use(below);
  return below + 1;
}

static void *first(void *arg) {
  descend(5000, 1);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  descend(5000, 2);
  return arg;
}

int main(void) { run2(first, second); }
