// A robust mutex whose owner ends while holding it: the next owner is told EOWNERDEAD and is ordered after the dead one.
// tsan: false alarm (the end of the owner is not seen as a release)
#include "two_threads.h"
#include <errno.h>

pthread_mutex_t mutex;
int data;

static void *first(void *arg) {
  pthread_mutex_lock(&mutex);
  data = 1;
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(pthread_mutex_lock(&mutex) == EOWNERDEAD);
  must(pthread_mutex_consistent(&mutex) == 0);
  data = 2;
  pthread_mutex_unlock(&mutex);
  return arg;
}

int main(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &attributes);
  run2(first, second);
}
