// Two races, on two variables that share an aligned word: both are reported, not only the first.
#include "two_threads.h"

struct {
  _Alignas(8) int low, high;
} pair;

static void *writer(void *arg) {
  pair.low = 1; // RACE a
  invisible_use(0);
  pair.high = 1; // RACE b
  invisible_signal(1);
  return arg;
}

static void *reader(void *arg) {
  invisible_wait(1);
  invisible_use(pair.high); // RACE b
  invisible_use(pair.low); // RACE a
  return arg;
}

int main(void) { run2(writer, reader); }
