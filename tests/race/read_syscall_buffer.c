// read(2) fills a buffer: the kernel writes it for the calling thread. Another thread has read the buffer.
#include "two_threads.h"
#include <unistd.h>

char buffer[16];
int ends[2];

static void *looker(void *arg) {
  invisible_use(buffer[3]); // RACE a
  invisible_signal(1);
  return arg;
}

static void *receiver(void *arg) {
  invisible_wait(1);
  must(read(ends[0], buffer, 8) == 8); // RACE a
  return arg;
}

int main(void) {
  must(pipe(ends) == 0);
  must(write(ends[1], "12345678", 8) == 8);
  run2(looker, receiver);
}
