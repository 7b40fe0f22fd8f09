// Memory from mmap() races like any other.
#include "two_threads.h"
#include <sys/mman.h>

int *region;

static void *first(void *arg) {
  region[5000] = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  region[5000] = 2; // RACE a
  return arg;
}

int main(void) {
  region = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(region != MAP_FAILED);
  run2(first, second);
}
