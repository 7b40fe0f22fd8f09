// The clock variants of both lock modes, as std::shared_timed_mutex uses them.
// tsan: false alarm (the clock variants are not intercepted)
#include "two_threads.h"
#include <time.h>

int pthread_rwlock_clockrdlock(pthread_rwlock_t *, clockid_t, const struct timespec *);
int pthread_rwlock_clockwrlock(pthread_rwlock_t *, clockid_t, const struct timespec *);
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
struct timespec later = {1L << 40, 0};
int data;

static void *first(void *arg) {
  must(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &later) == 0);
  data = 1;
  pthread_rwlock_unlock(&lock);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &later) == 0);
  invisible_use(data);
  pthread_rwlock_unlock(&lock);
  return arg;
}

int main(void) {
  run2(first, second);
}
