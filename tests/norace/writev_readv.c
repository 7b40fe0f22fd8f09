// writev() and readv() hand the data over.
#include "two_threads.h"
#include <sys/uio.h>
#include <unistd.h>

int ends[2];
int data;

static void *first(void *arg) {
  data = 1;
  struct iovec piece = {"x", 1};
  must(writev(ends[1], &piece, 1) == 1);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  char byte;
  struct iovec piece = {&byte, 1};
  must(readv(ends[0], &piece, 1) == 1);
  data = 2;
  return arg;
}

int main(void) {
  must(pipe(ends) == 0);
  run2(first, second);
}
