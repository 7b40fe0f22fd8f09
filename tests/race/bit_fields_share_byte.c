// Two threads write two bit-fields. To the language these are one memory location: each write rewrites the byte.
#include "two_threads.h"

struct {
  unsigned char left : 3;
  unsigned char right : 5;
} flags;

static void *first(void *arg) {
  flags.left = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  flags.right = 2; // RACE a
  return arg;
}

int main(void) { run2(first, second); }
