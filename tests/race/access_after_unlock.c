// The write comes one line too late, after the unlock.
#include "two_threads.h"

int shared;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *arg) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  shared = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  pthread_mutex_lock(&mutex);
  shared = 2; // RACE a
  pthread_mutex_unlock(&mutex);
  return arg;
}

int main(void) { run2(first, second); }
