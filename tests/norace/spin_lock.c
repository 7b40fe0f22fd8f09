// pthread spin locks, the second time by pthread_spin_trylock().
#include "two_threads.h"

pthread_spinlock_t lock;
int data;

static void *first(void *arg) {
  pthread_spin_lock(&lock);
  data = 1;
  pthread_spin_unlock(&lock);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(pthread_spin_trylock(&lock) == 0);
  data = 2;
  pthread_spin_unlock(&lock);
  return arg;
}

int main(void) {
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  run2(first, second);
}
