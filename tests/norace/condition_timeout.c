// pthread_cond_timedwait() runs into its timeout: the mutex was free meanwhile and is held again afterwards.
#include "two_threads.h"
#include <errno.h>
#include <time.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
int ready, data;
struct timespec past = {1, 0};

static void *first(void *arg) {
  pthread_mutex_lock(&mutex);
  data = 1;
  must(pthread_cond_timedwait(&condition, &mutex, &past) == ETIMEDOUT);
  data = 2;
  pthread_mutex_unlock(&mutex);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  pthread_mutex_lock(&mutex);
  data = 3;
  pthread_mutex_unlock(&mutex);
  return arg;
}

int main(void) {
  run2(first, second);
}
