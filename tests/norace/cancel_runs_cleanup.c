// A cancelled thread runs its cleanup handlers; who joins it is ordered after them.
#include "two_threads.h"
#include <unistd.h>

int data;
int ends[2];

static void cleanup(void *arg) {
  (void)arg;
  data = 2;
}

static void *body(void *arg) {
  char byte;
  pthread_cleanup_push(cleanup, 0);
  data = 1;
  must(read(ends[0], &byte, 1) == 1);
  pthread_cleanup_pop(0);
  return arg;
}

int main(void) {
  void *result;
  must(pipe(ends) == 0);
  pthread_t thread = start(body);
  pthread_cancel(thread);
  pthread_join(thread, &result);
  must(result == PTHREAD_CANCELED);
  data = 3;
}
