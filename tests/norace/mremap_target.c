// mremap() moves a region onto addresses that the other thread used and unmapped before: they are fresh.
#define _GNU_SOURCE
#include "two_threads.h"
#include <sys/mman.h>

enum { SIZE = 1 << 20 };
char *where;

static void *first(void *arg) {
  char *region = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(region != MAP_FAILED);
  region[500000] = 1;
  __asm__ volatile("movq %0, (%1)" : : "r"(region), "r"(&where) : "memory");
  invisible_wait(2);
  munmap(region, SIZE);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  char *region = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(region != MAP_FAILED);
  invisible_signal(2);
  invisible_wait(1);
  char *target;
  __asm__ volatile("movq (%1), %0" : "=r"(target) : "r"(&where) : "memory");
  void *claim = mmap(target, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (claim != target) // somebody else was faster
    return arg;
  must(mremap(region, SIZE, SIZE, 3 /* MAYMOVE | FIXED */, target) == target);
  target[500000] = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
