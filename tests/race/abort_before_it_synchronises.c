// A thread races and aborts before it synchronises again: what it did until then is checked all the same.
// ends: signal
#include "two_threads.h"

int shared[600];

static void *first(void *arg) {
  shared[300] = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  shared[300] = 2; // RACE a
  abort();
  return arg;
}

int main(void) {
  run2(first, second);
  return 0;
}
