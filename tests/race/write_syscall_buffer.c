// write(2) reads its buffer; another thread has written the last byte of it.
#include "two_threads.h"
#include <unistd.h>

char buffer[16];
int ends[2];

static void *writer(void *arg) {
  buffer[7] = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *sender(void *arg) {
  invisible_wait(1);
  must(write(ends[1], buffer, 8) == 8); // RACE a
  return arg;
}

int main(void) {
  must(pipe(ends) == 0);
  run2(writer, sender);
}
