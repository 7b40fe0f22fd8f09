// One thread writes every third element, the other the second half of the array: they meet in many elements, which is
// one race between two lines.
#include "two_threads.h"

int *array;

static void *strided(void *arg) {
  for (int i = 0; i < 3000; i += 3)
    array[i] = i; // RACE a
  invisible_signal(1);
  return arg;
}

static void *contiguous(void *arg) {
  invisible_wait(1);
  for (int i = 1500; i < 3000; i++)
    array[i] = -i; // RACE a
  return arg;
}

int main(void) {
  array = malloc(3000 * sizeof *array);
  run2(strided, contiguous);
  free(array);
}
