// The compiler makes one store of two: it comes from neither line alone, and the report still names one.
#include "two_threads.h"

int shared;
volatile int which;

static void *first(void *arg) {
  if (which)
    shared = 1; // RACE a
  else
    shared = 2;
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  shared = 3; // RACE a
  return arg;
}

int main(void) {
  run2(first, second);
}
