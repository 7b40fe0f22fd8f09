// mremap() moves a region; the addresses it leaves are mapped anew by the other thread.
#define _GNU_SOURCE
#include "two_threads.h"
#include <sys/mman.h>

enum { SIZE = 1 << 20 };
char *where;

static void *first(void *arg) {
  char *region = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(region != MAP_FAILED);
  region[500000] = 1;
  char *target = mmap(0, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(mremap(region, SIZE, SIZE, 3 /* MAYMOVE | FIXED */, target) == target);
  target[500000] = 3;
  __asm__ volatile("movq %0, (%1)" : : "r"(region), "r"(&where) : "memory");
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  char *same;
  __asm__ volatile("movq (%1), %0" : "=r"(same) : "r"(&where) : "memory");
  char *region = mmap(same, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (region != same) // somebody else was faster
    return arg;
  region[500000] = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
