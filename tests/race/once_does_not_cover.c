// pthread_once() orders what the initialiser did, not what its caller did afterwards.
#include "two_threads.h"

int shared;
pthread_once_t once = PTHREAD_ONCE_INIT;

static void initialise(void) {}

static void *first(void *arg) {
  pthread_once(&once, initialise);
  shared = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  pthread_once(&once, initialise);
  shared = 2; // RACE a
  return arg;
}

int main(void) { run2(first, second); }
