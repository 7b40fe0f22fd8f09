// memmove() with overlapping source and target writes byte 119; the other thread has read it.
#include "two_threads.h"
#include <string.h>

char buffer[200];
long length = 100;

static void *reader(void *arg) {
  invisible_use(buffer[119]); // RACE a
  invisible_signal(1);
  return arg;
}

static void *mover(void *arg) {
  invisible_wait(1);
  memmove(buffer + 20, buffer, length); // RACE a
  return arg;
}

int main(void) { run2(reader, mover); }
