// printf() reads a string that the other thread writes.
#include "two_threads.h"
#include <stdio.h>

char text[32];

static void *first(void *arg) {
  text[3] = 'x'; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  char line[64];
  // The string is in memory, behind the registers for arguments.
  snprintf(line, sizeof line, "%d %d %g %d %d %d %.*s\n", 1, 2, 3.0, 4, 5, 6, 4, text); // RACE a
  return arg;
}

int main(void) {
  for (int i = 0; i < 31; i++)
    text[i] = 'a';
  run2(first, second);
}
