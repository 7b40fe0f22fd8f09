// The destructor of a thread-specific key runs when its thread ends and touches what another thread has written.
#include "two_threads.h"

pthread_key_t key;
int shared;

static void destroy(void *value) {
  (void)value;
  invisible_wait(1);
  shared = 2; // RACE a
}

static void *with_key(void *arg) {
  pthread_setspecific(key, &key);
  return arg;
}

static void *writer(void *arg) {
  shared = 1; // RACE a
  invisible_signal(1);
  return arg;
}

int main(void) {
  must(pthread_key_create(&key, destroy) == 0);
  run2(with_key, writer);
}
