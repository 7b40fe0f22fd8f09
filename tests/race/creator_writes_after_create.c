// What the creator does after pthread_create() is not ordered before the new thread.
#include "two_threads.h"

int shared;

static void *child(void *arg) {
  invisible_wait(1);
  invisible_use(shared); // RACE a
  return arg;
}

int main(void) {
  pthread_t thread = start(child);
  shared = 1; // RACE a
  invisible_signal(1);
  pthread_join(thread, 0);
}
