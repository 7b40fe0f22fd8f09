// pthread_once(): who did not run the initialiser is ordered after it all the same.
#include "two_threads.h"

pthread_once_t once = PTHREAD_ONCE_INIT;
int data;

static void initialise(void) { data = 1; }

static void *first(void *arg) {
  pthread_once(&once, initialise);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  pthread_once(&once, initialise);
  invisible_use(data);
  return arg;
}

int main(void) {
  run2(first, second);
}
