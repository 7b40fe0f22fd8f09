// pthread_mutex_trylock() fails and the thread goes on as if it had the lock.
#include "two_threads.h"

int shared;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *holder(void *arg) {
  pthread_mutex_lock(&mutex);
  shared = 1; // RACE a
  invisible_signal(1);
  invisible_wait(2);
  pthread_mutex_unlock(&mutex);
  return arg;
}

static void *careless(void *arg) {
  invisible_wait(1);
  must(pthread_mutex_trylock(&mutex) != 0);
  shared = 2; // RACE a
  invisible_signal(2);
  return arg;
}

int main(void) { run2(holder, careless); }
