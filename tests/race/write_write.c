// Two threads write one variable and nothing orders the writes: the plainest race there is.
#include "two_threads.h"

int shared;

static void *first(void *arg) {
  shared = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  shared = 2; // RACE a
  return arg;
}

int main(void) { run2(first, second); }
