// sem_clockwait() that succeeds acquires.
// tsan: false alarm (sem_clockwait() is not intercepted)
#include "two_threads.h"
#include <semaphore.h>
#include <time.h>

int sem_clockwait(sem_t *, clockid_t, const struct timespec *);
sem_t full;
struct timespec later = {1L << 40, 0};
int data;

static void *first(void *arg) {
  data = 1;
  sem_post(&full);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(sem_clockwait(&full, CLOCK_MONOTONIC, &later) == 0);
  data = 2;
  return arg;
}

int main(void) {
  sem_init(&full, 0, 0);
  run2(first, second);
}
