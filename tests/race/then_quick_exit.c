// The program races and leaves by _exit(), which runs no exit handler.
#include "two_threads.h"
#include <unistd.h>

int shared;

static void *first(void *arg) {
  shared = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  shared = 2; // RACE a
  return arg;
}

int main(void) {
  run2(first, second);
  _exit(0);
}
