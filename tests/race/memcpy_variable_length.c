// memcpy() of a length known at run time only writes its target, which another thread has read.
#include "two_threads.h"
#include <string.h>

char source[300], target[300];
long length = 250;

static void *reader(void *arg) {
  invisible_use(target[249]); // RACE a
  invisible_signal(1);
  return arg;
}

static void *copier(void *arg) {
  invisible_wait(1);
  memcpy(target, source, length); // RACE a
  return arg;
}

int main(void) { run2(reader, copier); }
