// A region is unmapped while the other thread may still read it; that it was faster this time is luck.
#define _GNU_SOURCE
#include "two_threads.h"
#include <sys/mman.h>

enum { SIZE = 1 << 20 };
char *region;

static void *first(void *arg) {
  must(region[500000] == 7); // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(munmap(region, SIZE) == 0); // RACE a
  return arg;
}

int main(void) {
  region = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(region != MAP_FAILED);
  region[500000] = 7;
  run2(first, second);
}
