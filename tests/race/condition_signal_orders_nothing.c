// The data is written after the mutex was released and before the condition is signalled. A signal by itself orders
// nothing: only the mutex does.
#include "two_threads.h"

int ready, data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *producer(void *arg) {
  pthread_mutex_lock(&mutex);
  ready = 1;
  pthread_mutex_unlock(&mutex);
  data = 1; // RACE a
  pthread_cond_signal(&condition);
  invisible_signal(1);
  return arg;
}

static void *consumer(void *arg) {
  pthread_mutex_lock(&mutex);
  while (!ready)
    pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  invisible_wait(1);
  invisible_use(data); // RACE a
  return arg;
}

int main(void) { run2(producer, consumer); }
