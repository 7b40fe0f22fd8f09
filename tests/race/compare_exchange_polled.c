// One thread polls with an exchange that fails, relaxed, until it sees what the other released: it acquired nothing.
#include "two_threads.h"
#include <stdatomic.h>

int data;
atomic_int flag;

static void *poller(void *arg) {
  int seen;
  long polls = 0;
  do {
    seen = 2;
    atomic_compare_exchange_strong_explicit(&flag, &seen, 3, memory_order_acq_rel, memory_order_relaxed);
    if (++polls == 10000)
      invisible_signal(1);
  } while (seen != 1);
  invisible_use(data); // RACE a
  return arg;
}

static void *releaser(void *arg) {
  invisible_wait(1);
  data = 1; // RACE a
  atomic_store_explicit(&flag, 1, memory_order_release);
  return arg;
}

int main(void) { run2(poller, releaser); }
