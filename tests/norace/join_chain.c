// A thread joins another one, and main joins only the joiner: order is transitive.
#include "two_threads.h"

int data;

static void *inner(void *arg) {
  data = 1;
  return arg;
}

static void *outer(void *arg) {
  pthread_join(start(inner), 0);
  return arg;
}

int main(void) {
  pthread_join(start(outer), 0);
  data = 2;
}
