// The reader learns from epoll_wait() that the event came, and reads it.
#include "two_threads.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>

int event, poller;
int data;

static void *first(void *arg) {
  data = 1;
  must(eventfd_write(event, 1) == 0);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  struct epoll_event what;
  must(epoll_wait(poller, &what, 1, -1) == 1);
  eventfd_t value;
  must(eventfd_read(event, &value) == 0);
  data = 2;
  return arg;
}

int main(void) {
  event = eventfd(0, 0);
  poller = epoll_create1(0);
  struct epoll_event interest = {.events = EPOLLIN};
  must(epoll_ctl(poller, EPOLL_CTL_ADD, event, &interest) == 0);
  run2(first, second);
}
