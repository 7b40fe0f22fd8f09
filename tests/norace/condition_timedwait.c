// pthread_cond_timedwait() that is woken in time.
#include "two_threads.h"
#include <time.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
int ready, data;
struct timespec later = {1L << 40, 0};

static void *first(void *arg) {
  data = 1;
  pthread_mutex_lock(&mutex);
  ready = 1;
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  return arg;
}

static void *second(void *arg) {
  pthread_mutex_lock(&mutex);
  while (!ready)
    must(pthread_cond_timedwait(&condition, &mutex, &later) == 0);
  pthread_mutex_unlock(&mutex);
  data = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
