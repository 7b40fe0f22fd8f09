// A block is freed and the allocator gives the same address to the other thread: new block, fresh memory.
#include "two_threads.h"

enum { SIZE = 1 << 20 };

static void *first(void *arg) {
  char *block = invisible_pointer(malloc(SIZE));
  block[7] = 1;
  free(block);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  for (int i = 0; i < 64; i++) {
    char *block = invisible_pointer(malloc(SIZE));
    block[7] = 2;
    free(block);
  }
  return arg;
}

int main(void) {
  run2(first, second);
}
