// memcpy() is called through a pointer, where the compiler does not know what it does.
#include "two_threads.h"
#include <string.h>

char from[64], to[64];
void *(*volatile copy)(void *, const void *, size_t) = memcpy;

static void *first(void *arg) {
  copy(to, from, 40); // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  from[39] = 1; // RACE a
  return arg;
}

int main(void) {
  run2(first, second);
}
