// An error-checking mutex: a second lock by its owner fails and changes nothing.
#include "two_threads.h"

pthread_mutex_t mutex;
int data;

static void *first(void *arg) {
  pthread_mutex_lock(&mutex);
  must(pthread_mutex_lock(&mutex) != 0);
  data = 1;
  pthread_mutex_unlock(&mutex);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  pthread_mutex_lock(&mutex);
  must(pthread_mutex_lock(&mutex) != 0);
  data = 2;
  pthread_mutex_unlock(&mutex);
  return arg;
}

int main(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&mutex, &attributes);
  run2(first, second);
  pthread_mutex_destroy(&mutex);
}
