// Small blocks of one size class wander between threads through the allocator alone.
#include "two_threads.h"

enum { ROUNDS = 20000 };

static void *first(void *arg) {
  for (int i = 0; i < ROUNDS; i++) {
    int *block = invisible_pointer(malloc(40));
    block[i % 10] = i;
    free(block);
  }
  return arg;
}

static void *second(void *arg) {
  for (int i = 0; i < ROUNDS; i++) {
    int *block = invisible_pointer(malloc(40));
    block[i % 10] = -i;
    free(block);
  }
  return arg;
}

int main(void) {
  run2(first, second);
}
