// The waiter writes under the mutex, waits, and the signaller takes over: the wait itself releases the mutex.
#include "two_threads.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
int ready, data;

static void *first(void *arg) {
  pthread_mutex_lock(&mutex);
  data = 1;
  invisible_signal(1);
  while (!ready)
    pthread_cond_wait(&condition, &mutex);
  data = 3;
  pthread_mutex_unlock(&mutex);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  pthread_mutex_lock(&mutex);
  data = 2;
  ready = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  return arg;
}

int main(void) {
  run2(first, second);
}
