// The racing write lies a million accesses of its thread in the past when the other thread reads. A bounded history
// would have dropped it.
// tsan: misses (its trace holds about 98,000 accesses; older races are dropped without a word)
#include "two_threads.h"

int shared;
int busy[1 << 20];

static void *writer(void *arg) {
  shared = 1; // RACE a
  int *other = invisible_pointer(busy);
  for (int i = 0; i < 1 << 20; i++)
    other[i] = i;
  invisible_signal(1);
  return arg;
}

static void *reader(void *arg) {
  invisible_wait(1);
  invisible_use(shared); // RACE a
  return arg;
}

int main(void) { run2(writer, reader); }
