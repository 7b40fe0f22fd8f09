// Two thousand threads alive at once, each with its own element and all with one locked counter.
// timeout: 120
#include "two_threads.h"

enum { COUNT = 2000 };
int own[COUNT], total;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *body(void *arg) {
  own[(long)arg]++;
  pthread_mutex_lock(&mutex);
  total++;
  if (total == COUNT)
    invisible_signal(1);
  pthread_mutex_unlock(&mutex);
  invisible_wait(1);
  return 0;
}

int main(void) {
  static pthread_t threads[COUNT];
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 << 10);
  for (long i = 0; i < COUNT; i++)
    must(pthread_create(&threads[i], &small, body, (void *)i) == 0);
  for (int i = 0; i < COUNT; i++)
    pthread_join(threads[i], 0);
  for (int i = 0; i < COUNT; i++)
    must(own[i] == 1);
}
