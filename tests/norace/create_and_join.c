// pthread_create() orders what came before it with the thread, pthread_join() the thread with what comes after.
#include "two_threads.h"

int data;

static void *body(void *arg) {
  data = 2;
  return arg;
}

int main(void) {
  data = 1;
  pthread_join(start(body), 0);
  data = 3;
}
