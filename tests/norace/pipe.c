// A byte through a pipe hands the data over.
#include "two_threads.h"
#include <unistd.h>

int ends[2];
int data;

static void *first(void *arg) {
  data = 1;
  must(write(ends[1], "x", 1) == 1);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  char byte;
  must(read(ends[0], &byte, 1) == 1);
  data = 2;
  return arg;
}

int main(void) {
  must(pipe(ends) == 0);
  run2(first, second);
}
