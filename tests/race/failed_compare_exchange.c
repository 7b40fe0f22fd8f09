// A compare-exchange that fails is a load: it releases nothing, whatever order it asked for.
#include "two_threads.h"
#include <stdatomic.h>

int data;
atomic_int flag = 1;

static void *producer(void *arg) {
  int expected = 7;
  data = 1; // RACE a
  must(!atomic_compare_exchange_strong(&flag, &expected, 2));
  invisible_signal(1);
  return arg;
}

static void *consumer(void *arg) {
  invisible_wait(1);
  if (atomic_load_explicit(&flag, memory_order_acquire) == 1)
    invisible_use(data); // RACE a
  return arg;
}

int main(void) { run2(producer, consumer); }
