// The main thread joins one thread and reads what another wrote.
#include "two_threads.h"

int shared;

static void *writer(void *arg) {
  shared = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *idle(void *arg) { return arg; }

int main(void) {
  pthread_t a = start(writer), b = start(idle);
  pthread_join(b, 0);
  invisible_wait(1);
  invisible_use(shared); // RACE a
  pthread_join(a, 0);
}
