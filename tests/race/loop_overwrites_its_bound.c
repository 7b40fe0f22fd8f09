// A loop's bound is in memory, and the loop itself lowers it: what it did before that races, the rest was never touched.
#include "two_threads.h"

struct buffer {
  int items[100];
  int length;
};
struct buffer *shared;

static void *other_side(void *arg) {
  shared->items[20] = 1; // RACE a
  shared->items[80] = 1;
  invisible_signal(1);
  return arg;
}

static void __attribute__((noinline)) clear(struct buffer *b, int *bound, int cut) {
  for (int i = 0; i < *bound; i++) {
    b->items[i] = 0; // RACE a
    if (i == cut)
      b->length = cut;
  }
}

static void *loops(void *arg) {
  invisible_wait(1);
  clear(shared, invisible_pointer(&shared->length), 50);
  return arg;
}

int main(void) {
  shared = calloc(1, sizeof *shared);
  shared->length = 100;
  run2(other_side, loops);
  free(shared);
}
