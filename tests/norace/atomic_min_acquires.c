// fetch_min with acquire order takes over.
// tsan: false alarm (atomic min and max are not instrumented)
#include "two_threads.h"

int flag = 9;
int data;

static void *first(void *arg) {
  data = 1;
  __atomic_store_n(&flag, 5, __ATOMIC_RELEASE);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(__atomic_fetch_min(&flag, 3, __ATOMIC_ACQUIRE) == 5);
  data = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
