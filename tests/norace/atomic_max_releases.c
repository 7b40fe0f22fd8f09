// fetch_max with release order hands over.
// tsan: false alarm (atomic min and max are not instrumented)
#include "two_threads.h"

int flag;
int data;

static void *first(void *arg) {
  data = 1;
  __atomic_fetch_max(&flag, 5, __ATOMIC_RELEASE);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(__atomic_load_n(&flag, __ATOMIC_ACQUIRE) == 5);
  data = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
