// C11 threads: creation and joining order, the result comes back.
// tsan: crashes (C11 threads are not intercepted)
#include "invisible.h"
#include <stdlib.h>
#include <threads.h>

int data;

static int body(void *arg) {
  data += *(int *)arg;
  return 5;
}

int main(void) {
  thrd_t thread;
  int one = 1, result;
  data = 1;
  if (thrd_create(&thread, body, &one) != thrd_success)
    abort();
  if (thrd_join(thread, &result) != thrd_success || result != 5)
    abort();
  data = 3;
}
