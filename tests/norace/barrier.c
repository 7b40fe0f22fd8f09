// Before the barrier one thread writes, after it the other.
#include "two_threads.h"

pthread_barrier_t barrier;
int data;

static void *first(void *arg) {
  data = 1;
  pthread_barrier_wait(&barrier);
  return arg;
}

static void *second(void *arg) {
  pthread_barrier_wait(&barrier);
  data = 2;
  return arg;
}

int main(void) {
  pthread_barrier_init(&barrier, 0, 2);
  run2(first, second);
  pthread_barrier_destroy(&barrier);
}
