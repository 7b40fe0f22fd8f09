// The end of a stream hands over too: the reader sees the close that followed the write.
// tsan: false alarm (close() of one end is not ordered with the end of file at the other)
#include "two_threads.h"
#include <unistd.h>

int ends[2];
int data;

static void *first(void *arg) {
  data = 1;
  close(ends[1]);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  char byte;
  must(read(ends[0], &byte, 1) == 0);
  data = 2;
  return arg;
}

int main(void) {
  must(pipe(ends) == 0);
  run2(first, second);
}
