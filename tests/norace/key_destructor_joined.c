// The destructor of a thread-specific key runs in the ending thread, so before anything after the join.
#include "two_threads.h"

pthread_key_t key;
int data;

static void destroy(void *value) { *(int *)value = 1; }

static void *body(void *arg) {
  pthread_setspecific(key, &data);
  return arg;
}

int main(void) {
  must(pthread_key_create(&key, destroy) == 0);
  pthread_join(start(body), 0);
  must(data == 1);
  data = 2;
}
