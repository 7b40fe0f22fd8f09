// Each thread has its own copy of a thread-local variable, also if a new thread's copy lies where an old one's lay.
#include "two_threads.h"

_Thread_local long own[16];

static void *body(void *arg) {
  long *mine = invisible_pointer(own);
  for (int i = 0; i < 16; i++)
    mine[i] = i;
  invisible_signal((int)(long)arg);
  return 0;
}

int main(void) {
  for (long i = 0; i < 50; i++) {
    pthread_t thread;
    must(pthread_create(&thread, 0, body, (void *)i) == 0);
    pthread_detach(thread);
    invisible_wait((int)i);
  }
}
