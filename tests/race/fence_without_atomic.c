// Both threads run a full fence, but no atomic is handed over: fences alone order nothing.
#include "two_threads.h"
#include <stdatomic.h>

int data;

static void *producer(void *arg) {
  data = 1; // RACE a
  atomic_thread_fence(memory_order_seq_cst);
  invisible_signal(1);
  return arg;
}

static void *consumer(void *arg) {
  invisible_wait(1);
  atomic_thread_fence(memory_order_seq_cst);
  invisible_use(data); // RACE a
  return arg;
}

int main(void) { run2(producer, consumer); }
