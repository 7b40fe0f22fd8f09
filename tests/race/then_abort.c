// The program races and then calls abort().
// ends: signal
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

int main(void) {
  run2(first, second);
  abort();
}
