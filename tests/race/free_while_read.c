// A small block is freed by one thread after another has read it, unordered.
#include "two_threads.h"

int *block;

static void *reader(void *arg) {
  invisible_use(block[2]); // RACE a
  invisible_signal(1);
  return arg;
}

static void *owner(void *arg) {
  invisible_wait(1);
  free(block); // RACE a
  return arg;
}

int main(void) {
  block = calloc(4, sizeof *block);
  run2(reader, owner);
}
