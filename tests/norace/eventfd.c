// An eventfd hands the data over.
#include "two_threads.h"
#include <sys/eventfd.h>

int event;
int data;

static void *first(void *arg) {
  data = 1;
  must(eventfd_write(event, 1) == 0);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  eventfd_t value;
  must(eventfd_read(event, &value) == 0);
  data = 2;
  return arg;
}

int main(void) {
  event = eventfd(0, 0);
  run2(first, second);
}
