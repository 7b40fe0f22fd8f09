// A thread counts with release for long, writes, and does not count again: who acquires the counter is not ordered after the write.
#include "two_threads.h"

int counter, data;

static void *first(void *arg) {
  for (int i = 0; i < 1000; i++)
    __atomic_fetch_add(&counter, 1, __ATOMIC_ACQ_REL);
  data = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(__atomic_load_n(&counter, __ATOMIC_ACQUIRE) == 1000);
  invisible_use(data); // RACE a
  return arg;
}

int main(void) { run2(first, second); }
