// Both threads only read; the write was before they were created.
#include "two_threads.h"

int shared;

static void *first(void *arg) {
  invisible_use(shared);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  invisible_use(shared);
  return arg;
}

int main(void) {
  shared = 1;
  run2(first, second);
  shared = 2;
}
