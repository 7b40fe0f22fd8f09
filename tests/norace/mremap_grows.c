// mremap() makes a region longer where it is: another thread may use the old part meanwhile.
#define _GNU_SOURCE
#include "two_threads.h"
#include <sys/mman.h>

enum { SIZE = 1 << 16 };
// Where nobody maps anything by chance.
#define PLACE ((char *)0x200000000000)

static void *first(void *arg) {
  char *region = mmap(PLACE, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  must(region == PLACE);
  invisible_signal(1);
  invisible_wait(2);
  must(mremap(region, SIZE, 2 * SIZE, MREMAP_MAYMOVE) == PLACE);
  region[SIZE + 100] = 1;
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  PLACE[100] = 2;
  invisible_signal(2);
  return arg;
}

int main(void) {
  run2(first, second);
}
