// C11 condition variables, with and without a timeout.
// tsan: crashes (C11 threads are not intercepted)
#include "invisible.h"
#include <stdlib.h>
#include <threads.h>
#include <time.h>

int data, turn;
mtx_t mutex;
cnd_t changed;

static int first(void *arg) {
  data = 1;
  mtx_lock(&mutex);
  turn = 1;
  cnd_broadcast(&changed);
  while (turn != 2)
    cnd_wait(&changed, &mutex);
  mtx_unlock(&mutex);
  data = 3;
  return arg != 0;
}

static int second(void *arg) {
  struct timespec later = {1L << 40, 0};
  mtx_lock(&mutex);
  while (turn != 1)
    cnd_timedwait(&changed, &mutex, &later);
  data = 2;
  turn = 2;
  cnd_signal(&changed);
  mtx_unlock(&mutex);
  return arg != 0;
}

int main(void) {
  thrd_t a, b;
  mtx_init(&mutex, mtx_timed);
  cnd_init(&changed);
  thrd_create(&a, first, 0);
  thrd_create(&b, second, 0);
  thrd_join(a, 0);
  thrd_join(b, 0);
}
