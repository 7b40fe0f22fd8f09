// exit() inside a loop, in the middle of a range: what was written until then races.
// exit: 3
#include "two_threads.h"

enum { N = 200 };
int array[N];
volatile int limit = 100;

static void *other_side(void *arg) {
  array[99] = 1; // RACE a
  array[101] = 1;
  invisible_signal(1);
  return arg;
}

int main(void) {
  start(other_side);
  invisible_wait(1);
  int stop = limit;
  for (int i = 0; i < N; i++) {
    if (i == stop)
      exit(3);
    array[i] = i; // RACE a
  }
}
