// A thousand rounds of one barrier; the threads take turns in writing.
#include "two_threads.h"

pthread_barrier_t barrier;
int data;

static void *first(void *arg) {
  for (int i = 0; i < 1000; i++) {
    if (i % 2 == 0)
      data = i;
    pthread_barrier_wait(&barrier);
  }
  return arg;
}

static void *second(void *arg) {
  for (int i = 0; i < 1000; i++) {
    if (i % 2 == 1)
      data = i;
    pthread_barrier_wait(&barrier);
  }
  return arg;
}

int main(void) {
  pthread_barrier_init(&barrier, 0, 2);
  run2(first, second);
  pthread_barrier_destroy(&barrier);
}
