// sem_post() and sem_wait() hand the data over.
#include "two_threads.h"
#include <semaphore.h>

sem_t full;
int data;

static void *first(void *arg) {
  data = 1;
  sem_post(&full);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  sem_wait(&full);
  data = 2;
  return arg;
}

int main(void) {
  sem_init(&full, 0, 0);
  run2(first, second);
}
