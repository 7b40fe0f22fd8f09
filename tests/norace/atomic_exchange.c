// exchange releases and acquires.
#include "two_threads.h"

int flag;
int data;

static void *first(void *arg) {
  data = 1;
  must(__atomic_exchange_n(&flag, 1, __ATOMIC_RELEASE) == 0);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(__atomic_exchange_n(&flag, 2, __ATOMIC_ACQUIRE) == 1);
  data = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
