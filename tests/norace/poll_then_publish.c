// Each thread polls a flag for long, which changes nothing, until the other one publishes: what it published is ordered.
#include "two_threads.h"

enum { ROUNDS = 50, POLLS = 2000 };
int ping, pong, data;

static void wait_for(int *flag, int value) {
  for (int i = 0; i < POLLS; i++)
    __atomic_load_n(flag, __ATOMIC_ACQUIRE);
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != value) {
  }
}

static void *first(void *arg) {
  for (int i = 1; i <= ROUNDS; i++) {
    data++;
    __atomic_store_n(&ping, i, __ATOMIC_RELEASE);
    wait_for(&pong, i);
  }
  return arg;
}

static void *second(void *arg) {
  for (int i = 1; i <= ROUNDS; i++) {
    wait_for(&ping, i);
    data++;
    __atomic_store_n(&pong, i, __ATOMIC_RELEASE);
  }
  return arg;
}

int main(void) {
  run2(first, second);
  must(data == 2 * ROUNDS);
}
