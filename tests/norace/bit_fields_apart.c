// A zero-width bit-field puts the two fields into different memory locations.
#include "two_threads.h"

struct {
  unsigned left : 3;
  unsigned : 0;
  unsigned right : 3;
} flags;

static void *first(void *arg) {
  flags.left = 1;
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  flags.right = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
