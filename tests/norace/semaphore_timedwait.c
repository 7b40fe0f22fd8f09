// sem_timedwait() that succeeds acquires.
#include "two_threads.h"
#include <semaphore.h>
#include <time.h>

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
  must(sem_timedwait(&full, &later) == 0);
  data = 2;
  return arg;
}

int main(void) {
  sem_init(&full, 0, 0);
  run2(first, second);
}
