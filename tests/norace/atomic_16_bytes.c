// 16-byte atomics (cmpxchg16b) hand over.
// flags: -mcx16
// libs: -latomic
#include "two_threads.h"

_Alignas(16) __int128 flag;
int data;

static void *first(void *arg) {
  data = 1;
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(__atomic_load_n(&flag, __ATOMIC_ACQUIRE) == 1);
  data = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
