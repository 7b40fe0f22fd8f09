// realloc() moves the block, so it reads all of it and frees it; the other thread has written into it.
#include "two_threads.h"
#include <string.h>

char *block;

static void *writer(void *arg) {
  block[100] = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *owner(void *arg) {
  invisible_wait(1);
  block = realloc(block, 1 << 16); // RACE a
  return arg;
}

int main(void) {
  block = calloc(1, 200);
  // Keeps the block from growing in place.
  void *behind = malloc(200);
  run2(writer, owner);
  free(block);
  free(behind);
}
