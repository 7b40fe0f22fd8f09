// The compiler makes one store of two: it comes from neither line alone, and the report names the one before them.
#include "two_threads.h"

int shared;
volatile int which;

static void *first(void *arg) {
  if (which) // RACE a
    shared = 1;
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
