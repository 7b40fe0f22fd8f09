// fetch_nand releases, fetch_xor acquires.
#include "two_threads.h"

int flag = 6;
int data;

static void *first(void *arg) {
  data = 1;
  __atomic_fetch_nand(&flag, 2, __ATOMIC_RELEASE);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(__atomic_fetch_xor(&flag, 1, __ATOMIC_ACQUIRE) == ~2);
  data = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
