// Stacks of ended threads are reused by new ones: the same addresses, other variables.
#include "two_threads.h"

static void *body(void *arg) {
  int local[64];
  int *shared = invisible_pointer(local);
  for (int i = 0; i < 64; i++)
    shared[i] = i;
  invisible_signal((int)(long)arg);
  return 0;
}

int main(void) {
  for (long i = 0; i < 100; i++) {
    pthread_t thread;
    must(pthread_create(&thread, 0, body, (void *)i) == 0);
    pthread_detach(thread);
    invisible_wait((int)i);
  }
}
