// The program races and is then killed by SIGKILL, which nothing in the process can catch.
// ends: signal
#include "two_threads.h"
#include <signal.h>

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
  raise(SIGKILL);
}
