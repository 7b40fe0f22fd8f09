// A thread that is alone is not checked: before it creates others, after it has joined them, in between, and in a thread whose creator was joined. Atomic objects that it writes
// plainly meanwhile are used as such again.
#include "two_threads.h"
#include <stdatomic.h>

enum { WORDS = 2048 };
long data[WORDS];
_Atomic int flag;

static void *half(void *arg) {
  for (long i = (long)arg; i < WORDS; i += 2)
    data[i]++;
  return 0;
}

static void *writer(void *arg) {
  data[1] = 5;
  atomic_store_explicit(&flag, 1, memory_order_release);
  return arg;
}

static void *reader(void *arg) {
  while (!atomic_load_explicit(&flag, memory_order_acquire))
    ;
  data[1]++;
  return arg;
}

static void *inner(void *arg) {
  pthread_t a, b;
  must(pthread_create(&a, 0, half, (void *)0) == 0);
  must(pthread_create(&b, 0, half, (void *)1) == 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  for (long i = 0; i < WORDS; i++)
    data[i] *= 2;
  return arg;
}

int main(void) {
  for (int round = 0; round < 3; round++) {
    for (long i = 0; i < WORDS; i++)
      data[i] = i;
    pthread_join(start(inner), 0);
    for (long i = 0; i < WORDS; i++)
      must(data[i] == 2 * i + 2);
    *(int *)&flag = 0;
    run2(writer, reader);
    must(data[1] == 6);
  }
}
