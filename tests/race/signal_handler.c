// A signal handler runs on the thread that the signal interrupts; its accesses are that thread's.
#include "two_threads.h"
#include <signal.h>

int shared;

static void handler(int number) {
  (void)number;
  shared = 2; // RACE a
}

static void *writer(void *arg) {
  shared = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *interrupted(void *arg) {
  invisible_wait(1);
  raise(SIGUSR1);
  return arg;
}

int main(void) {
  signal(SIGUSR1, handler);
  run2(writer, interrupted);
}
