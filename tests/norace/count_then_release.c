// A counter that both threads only count with for long; then one adds with release, the other's relaxed additions go on with
// its release sequence, and who acquires their value is ordered.
#include "two_threads.h"

enum { ADDS = 5000 };
int counter, data;

static void *first(void *arg) {
  for (int i = 0; i < ADDS; i++)
    __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
  invisible_signal(1);
  invisible_wait(2);
  data = 1;
  __atomic_fetch_add(&counter, 1, __ATOMIC_RELEASE);
  invisible_signal(3);
  invisible_wait(4);
  for (int i = 0; i < ADDS; i++)
    __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
  invisible_signal(5);
  return arg;
}

static void *second(void *arg) {
  for (int i = 0; i < ADDS; i++)
    __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
  invisible_wait(1);
  invisible_signal(2);
  invisible_wait(3);
  for (int i = 0; i < ADDS; i++)
    __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
  must(__atomic_load_n(&counter, __ATOMIC_ACQUIRE) == 3 * ADDS + 1);
  data = 2;
  invisible_signal(4);
  invisible_wait(5);
  must(__atomic_fetch_add(&counter, 1, __ATOMIC_ACQUIRE) == 4 * ADDS + 1);
  return arg;
}

int main(void) { run2(first, second); }
