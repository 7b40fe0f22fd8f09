// A message through a socket pair hands the data over.
#include "two_threads.h"
#include <sys/socket.h>

int ends[2];
int data;

static void *first(void *arg) {
  data = 1;
  must(send(ends[1], "x", 1, 0) == 1);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  char byte;
  must(recv(ends[0], &byte, 1, 0) == 1);
  data = 2;
  return arg;
}

int main(void) {
  must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  run2(first, second);
}
