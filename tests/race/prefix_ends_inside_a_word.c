// An array whose first three elements were written one at a time, and the others never: the fourth one shares a word with the third.
// Both threads write it, the first one right after its neighbours.
#include "two_threads.h"

int *array;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *lower(void *arg) {
  for (int round = 0; round < 3; round++)
    for (int i = 0; i < 3 + round / 2; i++) {
      array[i] = i; // RACE a
      if (round < 2) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
      }
    }
  invisible_signal(1);
  return arg;
}

static void *upper(void *arg) {
  invisible_wait(1);
  array[3] = -1; // RACE a
  return arg;
}

int main(void) {
  array = malloc(64 * sizeof *array);
  run2(lower, upper);
  free(array);
}
