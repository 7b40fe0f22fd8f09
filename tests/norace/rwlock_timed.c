// The timed variants of both lock modes.
#include "two_threads.h"
#include <time.h>

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
struct timespec later = {1L << 40, 0};
int data;

static void *first(void *arg) {
  must(pthread_rwlock_timedwrlock(&lock, &later) == 0);
  data = 1;
  pthread_rwlock_unlock(&lock);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(pthread_rwlock_timedrdlock(&lock, &later) == 0);
  invisible_use(data);
  pthread_rwlock_unlock(&lock);
  return arg;
}

int main(void) {
  run2(first, second);
}
