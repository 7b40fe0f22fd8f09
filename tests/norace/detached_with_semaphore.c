// A detached thread reports its end through a semaphore.
#include "two_threads.h"
#include <semaphore.h>

int data;
sem_t done;

static void *body(void *arg) {
  data = 1;
  sem_post(&done);
  return arg;
}

int main(void) {
  sem_init(&done, 0, 0);
  pthread_detach(start(body));
  sem_wait(&done);
  data = 2;
}
