// The barrier orders what is before it with what is after it, not the two accesses after it.
#include "two_threads.h"

int shared;
pthread_barrier_t barrier;

static void *first(void *arg) {
  pthread_barrier_wait(&barrier);
  shared = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  pthread_barrier_wait(&barrier);
  invisible_wait(1);
  shared = 2; // RACE a
  return arg;
}

int main(void) {
  pthread_barrier_init(&barrier, 0, 2);
  run2(first, second);
  pthread_barrier_destroy(&barrier);
}
