// A release store read by an acquire load.
#include "two_threads.h"
#include <stdatomic.h>

atomic_int flag;
int data;

static void *first(void *arg) {
  data = 1;
  atomic_store_explicit(&flag, 1, memory_order_release);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(atomic_load_explicit(&flag, memory_order_acquire) == 1);
  data = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
