// A thread is cancelled in pthread_cond_wait(): its cleanup handler holds the mutex again and gives it back.
#include "two_threads.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
int data;

static void unlock(void *arg) {
  data = 2;
  pthread_mutex_unlock(arg);
}

static void *waiter(void *arg) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(unlock, &mutex);
  data = 1;
  invisible_signal(1);
  for (;;)
    pthread_cond_wait(&never, &mutex);
  pthread_cleanup_pop(1);
  return arg;
}

int main(void) {
  pthread_t thread = start(waiter);
  invisible_wait(1);
  pthread_mutex_lock(&mutex);
  data = 3;
  pthread_mutex_unlock(&mutex);
  pthread_cancel(thread);
  pthread_mutex_lock(&mutex);
  data = 4;
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, 0);
}
