// Two writers of a reader-writer lock.
#include "two_threads.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int data;

static void *first(void *arg) {
  pthread_rwlock_wrlock(&lock);
  data = 1;
  pthread_rwlock_unlock(&lock);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  pthread_rwlock_wrlock(&lock);
  data = 2;
  pthread_rwlock_unlock(&lock);
  return arg;
}

int main(void) {
  run2(first, second);
}
