// The read comes first, the write of another thread later: a detector has to remember reads as well as writes.
#include "two_threads.h"

int shared;

static void *reader(void *arg) {
  invisible_use(shared); // RACE a
  invisible_signal(1);
  return arg;
}

static void *writer(void *arg) {
  invisible_wait(1);
  shared = 1; // RACE a
  return arg;
}

int main(void) { run2(reader, writer); }
