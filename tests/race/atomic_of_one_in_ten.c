// Ten threads add without an order. Nine of them are joined before the plain write, which races with the tenth's.
#include "two_threads.h"

enum { MANY = 9 };
int shared;

static void *joined(void *arg) {
  __atomic_fetch_add(&shared, 1, __ATOMIC_RELAXED);
  return arg;
}

static void *left(void *arg) {
  __atomic_fetch_add(&shared, 1, __ATOMIC_RELAXED); // RACE a
  invisible_signal(1);
  return arg;
}

int main(void) {
  pthread_t last = start(left), others[MANY];
  invisible_wait(1);
  for (int i = 0; i < MANY; i++)
    others[i] = start(joined);
  for (int i = 0; i < MANY; i++)
    pthread_join(others[i], 0);
  shared = 0; // RACE a
  pthread_join(last, 0);
}
