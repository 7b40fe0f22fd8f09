// An array of objects with a lock each: the second thread takes the lock of the wrong element.
#include "two_threads.h"

struct {
  pthread_spinlock_t lock;
  int value;
} slots[4];

static void *first(void *arg) {
  pthread_spin_lock(&slots[2].lock);
  slots[2].value = 1; // RACE a
  pthread_spin_unlock(&slots[2].lock);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  pthread_spin_lock(&slots[3].lock);
  slots[2].value = 2; // RACE a
  pthread_spin_unlock(&slots[3].lock);
  return arg;
}

int main(void) {
  for (int i = 0; i < 4; i++)
    pthread_spin_init(&slots[i].lock, PTHREAD_PROCESS_PRIVATE);
  run2(first, second);
}
