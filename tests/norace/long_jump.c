// longjmp() out of nested calls, many times, while holding and then giving back a lock.
#include "two_threads.h"
#include <setjmp.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int data;

static __attribute__((noinline)) void descend(jmp_buf back, int depth) {
  if (depth == 0)
    longjmp(back, 1);
  descend(back, depth - 1);
  invisible_use(depth);
}

static void *body(void *arg) {
  for (int i = 0; i < 1000; i++) {
    jmp_buf back;
    pthread_mutex_lock(&mutex);
    if (setjmp(back) == 0)
      descend(back, 50);
    data++;
    pthread_mutex_unlock(&mutex);
  }
  return arg;
}

int main(void) {
  run2(body, body);
  must(data == 2000);
}
