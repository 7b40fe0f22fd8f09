// The second thread gets the mutex by pthread_mutex_timedlock().
#include "two_threads.h"
#include <time.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
struct timespec later = {1L << 40, 0};
int data;

static void *first(void *arg) {
  pthread_mutex_lock(&mutex);
  data = 1;
  pthread_mutex_unlock(&mutex);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(pthread_mutex_timedlock(&mutex, &later) == 0);
  data = 2;
  pthread_mutex_unlock(&mutex);
  return arg;
}

int main(void) {
  run2(first, second);
}
