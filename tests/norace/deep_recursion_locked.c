// Recursion a hundred thousand calls deep, then locked accesses.
// tsan: varies (its shadow call stack holds 65,536 calls; what lies behind it decides)
#include "two_threads.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int data;

static __attribute__((noinline)) long descend(long depth) {
  if (depth == 0) {
    pthread_mutex_lock(&mutex);
    data++;
    pthread_mutex_unlock(&mutex);
    return 0;
  }
  long below = descend(depth - 1);
  invisible_use(below);
  return below + 1;
}

static void *body(void *arg) {
  must(descend(100000) > 0);
  return arg;
}

int main(void) {
  pthread_attr_t large;
  pthread_t threads[2];
  pthread_attr_init(&large);
  pthread_attr_setstacksize(&large, 64 << 20);
  for (int i = 0; i < 2; i++)
    must(pthread_create(&threads[i], &large, body, 0) == 0);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
  must(data == 2);
}
