// A detached thread is never joined: the main thread's read is unordered with its write.
#include "two_threads.h"

int shared;

static void *writer(void *arg) {
  shared = 1; // RACE a
  invisible_signal(1);
  return arg;
}

int main(void) {
  pthread_detach(start(writer));
  invisible_wait(1);
  invisible_use(shared); // RACE a
}
