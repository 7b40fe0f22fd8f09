// A mutex is destroyed and its memory used for another mutex: the old order does not matter, the new one holds.
#include "two_threads.h"

union {
  pthread_mutex_t mutex;
  char bytes[64];
} place;
int data;

static void *first(void *arg) {
  pthread_mutex_lock(&place.mutex);
  data = 1;
  pthread_mutex_unlock(&place.mutex);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  pthread_mutex_lock(&place.mutex);
  data = 2;
  pthread_mutex_unlock(&place.mutex);
  return arg;
}

int main(void) {
  pthread_mutex_init(&place.mutex, 0);
  pthread_mutex_destroy(&place.mutex);
  for (int i = 0; i < 64; i++)
    place.bytes[i] = 0;
  pthread_mutex_init(&place.mutex, 0);
  run2(first, second);
}
