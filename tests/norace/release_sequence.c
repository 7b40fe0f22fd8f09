// A relaxed read-modify-write by a third party continues the release sequence; the reader of its value is ordered after its head.
#include "two_threads.h"

int flag, data;

static void *adder(void *arg) {
  invisible_wait(1);
  __atomic_fetch_add(&flag, 1, __ATOMIC_RELAXED);
  invisible_signal(2);
  return arg;
}

static void *first(void *arg) {
  data = 1;
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(2);
  must(__atomic_load_n(&flag, __ATOMIC_ACQUIRE) == 2);
  data = 2;
  return arg;
}

int main(void) {
  pthread_t third = start(adder);
  run2(first, second);
  pthread_join(third, 0);
}
