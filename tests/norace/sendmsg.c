// sendmsg() and recvmsg() hand the data over.
#include "two_threads.h"
#include <sys/socket.h>
#include <sys/uio.h>

int ends[2];
int data;

static void *first(void *arg) {
  data = 1;
  struct iovec piece = {"x", 1};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
  must(sendmsg(ends[1], &message, 0) == 1);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  char byte;
  struct iovec piece = {&byte, 1};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
  must(recvmsg(ends[0], &message, 0) == 1);
  data = 2;
  return arg;
}

int main(void) {
  must(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
  run2(first, second);
}
