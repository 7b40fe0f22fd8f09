// A thread other than main calls exit() while main waits in pthread_join(): the handlers run on that thread.
#include "two_threads.h"

int data;

static void at_exit(void) { data = 2; }

static void *body(void *arg) {
  (void)arg;
  data = 1;
  exit(0);
}

int main(void) {
  atexit(at_exit);
  pthread_join(start(body), 0);
  return 1;
}
