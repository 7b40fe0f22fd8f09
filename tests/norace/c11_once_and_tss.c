// C11 call_once() and the destructors of thread-specific storage.
// tsan: crashes (C11 threads are not intercepted)
#include "invisible.h"
#include <stdlib.h>
#include <threads.h>

int data, destroyed;
once_flag once = ONCE_FLAG_INIT;
tss_t key;

static void initialise(void) { data = 1; }
static void destroy(void *value) { *(int *)value = 1; }

static int first(void *arg) {
  call_once(&once, initialise);
  tss_set(key, &destroyed);
  invisible_signal(1);
  return arg != 0;
}

static int second(void *arg) {
  invisible_wait(1);
  call_once(&once, initialise);
  invisible_use(data);
  return arg != 0;
}

int main(void) {
  thrd_t a, b;
  tss_create(&key, destroy);
  thrd_create(&a, first, 0);
  thrd_create(&b, second, 0);
  thrd_join(a, 0);
  thrd_join(b, 0);
  if (destroyed != 1)
    abort();
}
