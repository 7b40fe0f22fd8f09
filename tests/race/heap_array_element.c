// Element 1234 of a heap array is written by both threads; every other element by one of them only.
#include "two_threads.h"

int *array;

static void *lower(void *arg) {
  for (int i = 0; i <= 1234; i++)
    array[i] = i; // RACE a
  invisible_signal(1);
  return arg;
}

static void *upper(void *arg) {
  invisible_wait(1);
  for (int i = 1234; i < 4000; i++)
    array[i] = -i; // RACE a
  return arg;
}

int main(void) {
  array = malloc(4000 * sizeof *array);
  run2(lower, upper);
  free(array);
}
