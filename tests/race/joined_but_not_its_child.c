// A thread is joined, but not the one that it created: who has joined all its own threads is not alone.
#include "two_threads.h"

int shared;

static void *grandchild(void *arg) {
  invisible_wait(1);
  shared = 1; // RACE a
  invisible_signal(2);
  return arg;
}

static void *child(void *arg) {
  pthread_detach(start(grandchild));
  return arg;
}

int main(void) {
  pthread_join(start(child), 0);
  shared = 2; // RACE a
  invisible_signal(1);
  invisible_wait(2);
}
