// An atexit() handler reads what a detached thread wrote: leaving the program orders nothing.
#include "two_threads.h"

int shared;

static void *writer(void *arg) {
  shared = 1; // RACE a
  invisible_signal(1);
  invisible_wait(2);
  return arg;
}

static void at_exit(void) {
  invisible_use(shared); // RACE a
}

int main(void) {
  atexit(at_exit);
  pthread_detach(start(writer));
  invisible_wait(1);
  return 0;
}
