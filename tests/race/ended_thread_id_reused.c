// The writer ended long ago without being joined, and a thousand threads have come and gone since. A detector that
// gives the writer's identity to a later thread must not take the writer's past for that thread's.
// tsan: misses (it forgets the ended thread)
#include "two_threads.h"

int shared;

static void *writer(void *arg) {
  shared = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *idle(void *arg) { return arg; }

static void *reader(void *arg) {
  invisible_use(shared); // RACE a
  return arg;
}

int main(void) {
  pthread_detach(start(writer));
  invisible_wait(1);
  for (int i = 0; i < 1000; i++)
    pthread_join(start(idle), 0);
  pthread_join(start(reader), 0);
}
