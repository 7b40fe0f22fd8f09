// The relaxed store comes first, the release store of the same thread after it: the reader sees the latter.
#include "two_threads.h"

int flag, data;

static void *first(void *arg) {
  __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
  data = 1;
  __atomic_store_n(&flag, 2, __ATOMIC_RELEASE);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(__atomic_load_n(&flag, __ATOMIC_ACQUIRE) == 2);
  data = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
