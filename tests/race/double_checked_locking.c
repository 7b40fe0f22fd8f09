// The first check of the pointer is made without the lock.
#include "two_threads.h"

int *instance;
int storage;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *creator(void *arg) {
  pthread_mutex_lock(&mutex);
  storage = 1;           // RACE b
  instance = &storage;   // RACE a
  pthread_mutex_unlock(&mutex);
  invisible_signal(1);
  return arg;
}

static void *user(void *arg) {
  invisible_wait(1);
  int *found = instance; // RACE a
  if (found)
    invisible_use(*found); // RACE b
  return arg;
}

int main(void) { run2(creator, user); }
