// Peterson's lock on sequentially consistent atomics protects a plain counter.
#include "two_threads.h"
#include <sched.h>
#include <stdatomic.h>

atomic_int wants[2], turn;
int data;

static void work(int me) {
  for (int i = 0; i < 300; i++) {
    wants[me] = 1;
    turn = 1 - me;
    while (wants[1 - me] && turn == 1 - me)
      sched_yield();
    data++;
    wants[me] = 0;
  }
}

static void *first(void *arg) {
  work(0);
  return arg;
}

static void *second(void *arg) {
  work(1);
  return arg;
}

int main(void) {
  run2(first, second);
  must(data == 600);
}
