// One thread operates on an object, alone for long; another one reads it as a plain variable, with what was published first in its past and no more.
#include "two_threads.h"

enum { ROUNDS = 2000 };
long object, other;
int data;

static void *first(void *arg) {
  for (int i = 1; i <= ROUNDS; i++) {
    data = i;
    __atomic_fetch_add(&other, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&object, 1, __ATOMIC_SEQ_CST); // RACE a
  }
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(__atomic_load_n(&other, __ATOMIC_ACQUIRE) == ROUNDS);
  must(object == ROUNDS); // RACE a
  return arg;
}

int main(void) { run2(first, second); }
