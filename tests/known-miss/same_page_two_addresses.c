// One page is mapped at two addresses; each thread writes through its own. Shadow state belongs to virtual addresses, so
// nobody sees that the two are the same memory.
// tsan: misses (as every shadow-memory detector)
#include "two_threads.h"
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

int memfd_create(const char *name, unsigned flags);
int *left, *right;

static void *first(void *arg) {
  *left = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  *right = 2; // RACE a
  return arg;
}

int main(void) {
  int file = memfd_create("page", 0);
  must(ftruncate(file, 4096) == 0);
  left = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  right = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  must(left != MAP_FAILED && right != MAP_FAILED);
  run2(first, second);
}
