// A releases, B stores relaxed to the same atomic, C acquires B's value. Since C++20 a plain store by another thread ends
// A's release sequence, so C is not ordered after A.
// tsan: misses (its relaxed store leaves the release clock in place)
#include "two_threads.h"
#include <stdatomic.h>

int data;
atomic_int flag;

static void *releaser(void *arg) {
  data = 1; // RACE a
  atomic_store_explicit(&flag, 1, memory_order_release);
  invisible_signal(1);
  return arg;
}

static void *breaker(void *arg) {
  invisible_wait(1);
  atomic_store_explicit(&flag, 2, memory_order_relaxed);
  invisible_signal(2);
  return arg;
}

static void *acquirer(void *arg) {
  invisible_wait(2);
  if (atomic_load_explicit(&flag, memory_order_acquire) == 2)
    invisible_use(data); // RACE a
  return arg;
}

int main(void) {
  pthread_t t = start(releaser);
  run2(breaker, acquirer);
  pthread_join(t, 0);
}
