// pthread_cond_clockwait() with the monotonic clock.
#include "two_threads.h"
#include <time.h>

int pthread_cond_clockwait(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
int ready, data;
struct timespec later = {1L << 40, 0};

static void *first(void *arg) {
  data = 1;
  pthread_mutex_lock(&mutex);
  ready = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  return arg;
}

static void *second(void *arg) {
  pthread_mutex_lock(&mutex);
  while (!ready)
    must(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &later) == 0);
  pthread_mutex_unlock(&mutex);
  data = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
