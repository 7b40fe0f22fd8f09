// Both threads hold the lock for reading, one after the other, and write.
#include "two_threads.h"

int shared;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *first(void *arg) {
  pthread_rwlock_rdlock(&lock);
  shared = 1; // RACE a
  pthread_rwlock_unlock(&lock);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  pthread_rwlock_rdlock(&lock);
  shared = 2; // RACE a
  pthread_rwlock_unlock(&lock);
  return arg;
}

int main(void) { run2(first, second); }
