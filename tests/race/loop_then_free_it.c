// A loop reads a block into which somebody wrote, and the block is given back right after: the read is where it went wrong, and the free
// comes later.
#include "two_threads.h"

enum { N = 4096 };
long *block;
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

static void *writer(void *arg) {
  for (int i = 0; i < N; i++)
    block[i] = 1; // RACE a b
  // Nobody else takes it. Whoever puts checks off makes them here, so the other thread's come later.
  pthread_mutex_lock(&own);
  pthread_mutex_unlock(&own);
  invisible_signal(1);
  return arg;
}

static void *reader(void *arg) {
  invisible_wait(1);
  long sum = 0;
  for (int i = 0; i < N; i++)
    sum += block[i]; // RACE a
  invisible_use(sum);
  free(block); // RACE b
  return arg;
}

int main(void) {
  block = calloc(N, sizeof *block);
  run2(writer, reader);
}
