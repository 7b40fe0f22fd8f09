// memset() writes a range; the other thread reads in the middle of it.
#include "two_threads.h"
#include <string.h>

char buffer[1000];

static void *setter(void *arg) {
  memset(invisible_pointer(buffer), 1, 1000); // RACE a
  invisible_signal(1);
  return arg;
}

static void *reader(void *arg) {
  invisible_wait(1);
  invisible_use(buffer[500]); // RACE a
  return arg;
}

int main(void) { run2(setter, reader); }
