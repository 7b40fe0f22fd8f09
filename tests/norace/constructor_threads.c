// A constructor starts and joins a thread before main() runs.
#include "two_threads.h"

int data;

static void *body(void *arg) {
  data = 1;
  return arg;
}

__attribute__((constructor)) static void before_main(void) { pthread_join(start(body), 0); }

int main(void) {
  must(data == 1);
  data = 2;
}
