// A region is unmapped by one thread and the other one gets the same addresses from mmap().
#define _GNU_SOURCE
#include "two_threads.h"
#include <sys/mman.h>

enum { SIZE = 1 << 20 };
// Where nobody maps anything by chance.
#define PLACE ((char *)0x200000000000)

static char *map(void) {
  char *region = mmap(PLACE, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  must(region == PLACE);
  return region;
}

static void *first(void *arg) {
  char *region = map();
  region[500000] = 1;
  must(munmap(region, SIZE) == 0);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  char *region = map();
  region[500000] = 2;
  must(munmap(region, SIZE) == 0);
  return arg;
}

int main(void) {
  run2(first, second);
}
