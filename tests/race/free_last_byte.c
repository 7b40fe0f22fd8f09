// free() of a 1 MB block while another thread has written its last byte: freeing touches the whole block.
// tsan: misses (free() checks the first 1024 bytes of a block)
#include "two_threads.h"

char *block;

static void *writer(void *arg) {
  block[(1 << 20) - 1] = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *owner(void *arg) {
  invisible_wait(1);
  free(block); // RACE a
  return arg;
}

int main(void) {
  block = malloc(1 << 20);
  run2(writer, owner);
}
