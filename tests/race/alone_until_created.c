// Threads are created, joined and created again. What the main thread does while it is alone races with nothing, what it does after that does.
#include "two_threads.h"

enum { WORDS = 4096 };
long before[WORDS], after[WORDS];

static void *reader(void *arg) {
  long sum = 0;
  for (int i = 0; i < WORDS; i++)
    sum += before[i];
  invisible_use(sum);
  return arg;
}

static void *late(void *arg) {
  for (int i = 0; i < WORDS; i++)
    before[i] = 1;
  invisible_wait(1);
  after[7] = 1; // RACE a
  return arg;
}

int main(void) {
  for (int i = 0; i < WORDS; i++)
    before[i] = i;
  run2(reader, reader);
  for (int i = 0; i < WORDS; i++)
    before[i] = after[i] = i;
  pthread_t thread = start(late);
  after[7] = 2; // RACE a
  invisible_signal(1);
  pthread_join(thread, 0);
  after[7] = 3;
}
