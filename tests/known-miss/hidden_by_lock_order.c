// In this execution the first thread's critical section happens to come before the second's, which orders the two
// writes. In another schedule they race. Happens-before judges the execution it sees; a predictive analysis would say
// more.
// tsan: misses (as every happens-before detector)
#include "two_threads.h"

int shared;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *arg) {
  shared = 1; // RACE a
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  shared = 2; // RACE a
  return arg;
}

int main(void) { run2(first, second); }
