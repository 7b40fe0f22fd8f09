// One thread writes and publishes again and again, into several objects, and is the only one that operates on them for long; whoever comes then, and
// whenever, gets what was published last, and from the thread's own object no more than that.
#include "two_threads.h"

enum { ROUNDS = 2000, OBJECTS = 4 };
long objects[OBJECTS];
int data[OBJECTS], more;

static void publish(int round) {
  for (int i = 0; i < OBJECTS; i++) {
    data[i] = round;
    __atomic_fetch_add(&objects[i], 1, __ATOMIC_SEQ_CST);
  }
}

static void *first(void *arg) {
  for (int i = 1; i <= ROUNDS; i++)
    publish(i);
  invisible_signal(1);
  invisible_wait(2);
  // Its own again, and others poll meanwhile.
  for (int i = 1; i <= ROUNDS; i++)
    more = i, __atomic_store_n(&objects[0], -i, __ATOMIC_RELEASE);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  for (int i = OBJECTS - 1; i >= 0; i--) {
    must(__atomic_load_n(&objects[i], __ATOMIC_ACQUIRE) == ROUNDS);
    must(data[i] == ROUNDS);
  }
  invisible_signal(2);
  while (__atomic_load_n(&objects[0], __ATOMIC_ACQUIRE) != -ROUNDS)
    ;
  must(more == ROUNDS);
  return arg;
}

int main(void) { run2(first, second); }
