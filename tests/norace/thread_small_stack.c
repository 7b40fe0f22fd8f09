// A thread with the smallest stack that can be asked for has room for the checks, too, and the attributes stay as they were.
#include "two_threads.h"
#include <limits.h>
#include <stdio.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int data;

static void *body(void *arg) {
  char text[64];
  for (int i = 0; i < 100; i++) {
    pthread_mutex_lock(&lock);
    data += snprintf(text, sizeof text, "%d %s", i, "text");
    pthread_mutex_unlock(&lock);
  }
  return arg;
}

int main(void) {
  pthread_attr_t small;
  must(pthread_attr_init(&small) == 0);
  must(pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN) == 0);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    must(pthread_create(&threads[i], &small, body, 0) == 0);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
  size_t size;
  must(pthread_attr_getstacksize(&small, &size) == 0 && size == PTHREAD_STACK_MIN);
}
