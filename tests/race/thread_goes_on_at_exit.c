// A thread still runs when the process ends, and never synchronises again: what it did before counts all the same.
#include "invisible.h"
#include <pthread.h>
#include <stdlib.h>

enum { N = 100 };
int *array;

static void *writer(void *arg) {
  for (int i = 0; i < N; i++)
    array[i] = i; // RACE a
  invisible_signal(1);
  invisible_wait(2);
  return arg;
}

int main(void) {
  array = calloc(N, sizeof *array);
  pthread_t thread;
  if (pthread_create(&thread, 0, writer, 0))
    abort();
  invisible_wait(1);
  long sum = 0;
  for (int i = 0; i < N; i++)
    sum += array[i]; // RACE a
  invisible_use(sum);
  return 0;
}
