// An array of which elements 0 and 2 were written one at a time, which makes single elements of the first three: element 3 shares a word with
// the last of them. Both threads write it, the first one right after its neighbours, the second one with all that
// follow, which are one part of the array.
#include "two_threads.h"
#include <string.h>

int *array;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *lower(void *arg) {
  static const int order[] = {0, 2, 0, 1, 2, 3};
  for (int i = 0; i < 6; i++) {
    array[order[i]] = i; // RACE a
    if (i < 2) {
      pthread_mutex_lock(&lock);
      pthread_mutex_unlock(&lock);
    }
  }
  invisible_signal(1);
  return arg;
}

static void *upper(void *arg) {
  invisible_wait(1);
  memset(array + 3, 0, 61 * sizeof *array); // RACE a
  return arg;
}

int main(void) {
  array = malloc(64 * sizeof *array);
  run2(lower, upper);
  free(array);
}
