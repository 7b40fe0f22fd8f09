// One thread publishes into two objects, alone for long. Who takes what is in the first does not have what was written before the last publication into
// the second.
#include "two_threads.h"

enum { ROUNDS = 2000 };
long objects[2];
int data[2];

static void *first(void *arg) {
  for (int i = 1; i <= ROUNDS; i++)
    for (int object = 0; object < 2; object++) {
      data[object] = i; // RACE a
      __atomic_fetch_add(&objects[object], 1, __ATOMIC_SEQ_CST);
    }
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(__atomic_load_n(&objects[0], __ATOMIC_ACQUIRE) == ROUNDS);
  must(data[0] == ROUNDS);
  must(data[1] == ROUNDS); // RACE a
  return arg;
}

int main(void) { run2(first, second); }
