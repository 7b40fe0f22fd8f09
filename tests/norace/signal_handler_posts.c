// A handler posts a semaphore, the one hand-off that POSIX allows there.
#include "two_threads.h"
#include <semaphore.h>
#include <signal.h>

int data;
sem_t done;

static void handler(int number) {
  (void)number;
  data = 1;
  sem_post(&done);
}

static void *interrupted(void *arg) {
  raise(SIGUSR1);
  return arg;
}

int main(void) {
  sem_init(&done, 0, 0);
  signal(SIGUSR1, handler);
  pthread_t thread = start(interrupted);
  sem_wait(&done);
  data = 2;
  pthread_join(thread, 0);
}
