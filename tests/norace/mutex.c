// Both threads write under one mutex.
#include "two_threads.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
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
  pthread_mutex_lock(&mutex);
  data = 2;
  pthread_mutex_unlock(&mutex);
  return arg;
}

int main(void) {
  run2(first, second);
}
