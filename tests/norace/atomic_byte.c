// One-byte atomics, with the neighbouring bytes in plain use by the other thread.
#include "two_threads.h"

struct {
  char flag, neighbour;
} pair;
int data;

static void *first(void *arg) {
  data = 1;
  pair.neighbour = 1;
  __atomic_store_n(&pair.flag, 1, __ATOMIC_RELEASE);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(__atomic_load_n(&pair.flag, __ATOMIC_ACQUIRE) == 1);
  pair.neighbour = 2;
  data = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
