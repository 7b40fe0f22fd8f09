// fetch_or releases, fetch_and acquires.
#include "two_threads.h"

int flag;
int data;

static void *first(void *arg) {
  data = 1;
  __atomic_fetch_or(&flag, 4, __ATOMIC_RELEASE);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(__atomic_fetch_and(&flag, 3, __ATOMIC_ACQUIRE) == 4);
  data = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
