// A loop appends to an array that it reallocates as it grows. Another thread wrote into the array as it was first.
#include "two_threads.h"
#include <string.h>

int *items;
int room = 8;

static void *other_side(void *arg) {
  items[2] = 1; // RACE a b
  invisible_signal(1);
  return arg;
}

static void *appends(void *arg) {
  invisible_wait(1);
  for (int i = 0; i < 1000; i++) {
    if (i == room) {
      room *= 2;
      items = realloc(items, room * sizeof *items); // RACE b
    }
    items[i] = i; // RACE a
  }
  return arg;
}

int main(void) {
  items = malloc(room * sizeof *items);
  run2(other_side, appends);
  free(items);
}
