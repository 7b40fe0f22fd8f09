// The semaphore is posted before the data is written.
#include "two_threads.h"
#include <semaphore.h>

int data;
sem_t full;

static void *producer(void *arg) {
  sem_post(&full);
  data = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *consumer(void *arg) {
  sem_wait(&full);
  invisible_wait(1);
  invisible_use(data); // RACE a
  return arg;
}

int main(void) {
  sem_init(&full, 0, 0);
  run2(producer, consumer);
}
