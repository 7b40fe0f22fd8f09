// mremap() moves a region onto addresses that the other thread used and unmapped before: they are fresh.
#define _GNU_SOURCE
#include "two_threads.h"
#include <sys/mman.h>

enum { SIZE = 1 << 20 };
// Where nobody maps anything by chance.
#define PLACE ((char *)0x200000000000)
#define TARGET ((char *)0x210000000000)

static char *map(char *place) {
  char *region = mmap(place, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  must(region == place);
  return region;
}

static void *first(void *arg) {
  char *region = map(TARGET);
  region[500000] = 1;
  must(munmap(region, SIZE) == 0);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  char *region = map(PLACE);
  invisible_wait(1);
  must(mremap(region, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, TARGET) == TARGET);
  TARGET[500000] = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
