// Built without the compiler's knowledge of memset() and memmove(), as some programs are: they are still checked.
// flags: -fno-builtin
#include "two_threads.h"
#include <string.h>

char bytes[64];

static void *first(void *arg) {
  memset(bytes, 1, 20);               // RACE a
  memmove(bytes + 30, bytes + 32, 5); // RACE b
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  bytes[19] = 2; // RACE a
  bytes[36] = 2; // RACE b
  return arg;
}

int main(void) {
  run2(first, second);
}
