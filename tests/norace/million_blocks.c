// A million live heap blocks, made by one thread and freed by another after a join.
// timeout: 120
#include "two_threads.h"

enum { COUNT = 1000000 };
static int **blocks;

static void *make(void *arg) {
  for (int i = 0; i < COUNT; i++) {
    blocks[i] = malloc(sizeof **blocks);
    *blocks[i] = i;
  }
  return arg;
}

static void *destroy(void *arg) {
  for (int i = 0; i < COUNT; i++) {
    must(*blocks[i] == i);
    free(blocks[i]);
  }
  return arg;
}

int main(void) {
  blocks = malloc(COUNT * sizeof *blocks);
  pthread_join(start(make), 0);
  pthread_join(start(destroy), 0);
  free(blocks);
}
