// memcpy() reads all of its source; another thread has written one byte of it.
#include "two_threads.h"
#include <string.h>

char source[300], target[300];

static void *writer(void *arg) {
  source[299] = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *copier(void *arg) {
  invisible_wait(1);
  memcpy(invisible_pointer(target), source, 300); // RACE a
  return arg;
}

int main(void) { run2(writer, copier); }
