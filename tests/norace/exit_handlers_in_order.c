// atexit() handlers run one after the other on the thread that leaves.
#include "two_threads.h"

int data;

static void last(void) { data++; }
static void first(void) { data++; }

static void *body(void *arg) {
  data = 1;
  return arg;
}

int main(void) {
  atexit(last);
  atexit(first);
  pthread_join(start(body), 0);
}
