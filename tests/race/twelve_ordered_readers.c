// One reader is unordered with the final write; twelve more readers come after it, all ordered before the write by
// joins. Who keeps a fixed number of readers forgets the one that matters.
// tsan: misses (the unordered read is evicted by the ordered ones)
#include "two_threads.h"

_Alignas(8) int shared;

static void *unordered(void *arg) {
  invisible_use(shared); // RACE a
  invisible_signal(1);
  return arg;
}

static void *ordered(void *arg) {
  invisible_use(shared);
  return arg;
}

int main(void) {
  pthread_t racer = start(unordered);
  invisible_wait(1);
  for (int i = 0; i < 12; i++)
    pthread_join(start(ordered), 0);
  shared = 1; // RACE a
  pthread_join(racer, 0);
}
