// pthread_exit() from a nested call; the joiner reads the result that the thread left on the heap.
#include "two_threads.h"

static void leave(int value) {
  int *result = malloc(sizeof *result);
  *result = value;
  pthread_exit(result);
}

static void *body(void *arg) {
  leave(7);
  return arg;
}

int main(void) {
  void *result;
  pthread_join(start(body), &result);
  must(*(int *)result == 7);
  free(result);
}
