// A thread races and never synchronises again, until somebody ends the process with a signal.
// ends: signal
#include "two_threads.h"

#include <signal.h>
#include <unistd.h>

int shared[600];
volatile int forever = 1;

static void *first(void *arg) {
  shared[300] = 1; // RACE a
  invisible_signal(1);
  while (forever) {
  }
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  shared[300] = 2; // RACE a
  invisible_signal(2);
  while (forever) {
  }
  return arg;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  invisible_wait(2);
  kill(getpid(), SIGTERM);
  pthread_join(threads[0], NULL);
  return 0;
}
