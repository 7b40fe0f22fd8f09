// Sequentially consistent accesses release and acquire.
#include "two_threads.h"
#include <stdatomic.h>

atomic_int flag;
int data;

static void *first(void *arg) {
  data = 1;
  flag = 1;
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(flag == 1);
  data = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
