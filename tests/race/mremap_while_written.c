// A region is moved elsewhere while the other thread may still write to where it was.
#define _GNU_SOURCE
#include "two_threads.h"
#include <sys/mman.h>

enum { SIZE = 1 << 16 };
#define TARGET ((char *)0x210000000000)
char *region;

static void *first(void *arg) {
  region[100] = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(mremap(region, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, TARGET) == TARGET); // RACE a
  return arg;
}

int main(void) {
  region = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(region != MAP_FAILED);
  run2(first, second);
}
