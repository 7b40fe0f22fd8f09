// C11 mutexes: plain, try and timed.
// tsan: crashes (C11 threads are not intercepted)
#include "invisible.h"
#include <stdlib.h>
#include <threads.h>
#include <time.h>

int data;
mtx_t mutex;

static int first(void *arg) {
  mtx_lock(&mutex);
  data = 1;
  mtx_unlock(&mutex);
  invisible_signal(1);
  invisible_wait(2);
  struct timespec later = {1L << 40, 0};
  if (mtx_timedlock(&mutex, &later) != thrd_success)
    abort();
  data = 3;
  mtx_unlock(&mutex);
  return arg != 0;
}

static int second(void *arg) {
  invisible_wait(1);
  if (mtx_trylock(&mutex) != thrd_success)
    abort();
  data = 2;
  mtx_unlock(&mutex);
  invisible_signal(2);
  return arg != 0;
}

int main(void) {
  thrd_t a, b;
  mtx_init(&mutex, mtx_timed);
  thrd_create(&a, first, 0);
  thrd_create(&b, second, 0);
  thrd_join(a, 0);
  thrd_join(b, 0);
  mtx_destroy(&mutex);
}
