// One acquire fence acquires all that relaxed loads before it have read, here the first of two flags.
// tsan: false alarm (fences are not modelled)
#include "two_threads.h"
#include <stdatomic.h>

atomic_int flag, other;
int data;

static void *first(void *arg) {
  data = 1;
  atomic_store_explicit(&flag, 1, memory_order_release);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(atomic_load_explicit(&flag, memory_order_relaxed) == 1);
  atomic_load_explicit(&other, memory_order_relaxed);
  atomic_thread_fence(memory_order_acq_rel);
  data = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
