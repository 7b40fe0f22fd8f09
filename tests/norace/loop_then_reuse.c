// Memory is given back right after the loop that used it and given to another thread: by free, by munmap, by the end of a stack frame. The
// loop's accesses are over by then.
#include "two_threads.h"
#include <sys/mman.h>

enum { N = 8192 };
int *block;
volatile int count = N;

static int __attribute__((noinline)) on_stack(int n) {
  int frame[256];
  int *p = invisible_pointer(frame);
  for (int i = 0; i < 256; i++)
    p[i] = n;
  int sum = 0;
  for (int i = 0; i < 256; i++)
    sum += p[i];
  return sum;
}

static void *first(void *arg) {
  int n = count;
  int *heap = invisible_pointer(malloc(N * sizeof *heap));
  for (int i = 0; i < n; i++)
    heap[i] = i;
  free(heap);
  int *map = mmap(0, N * sizeof *map, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < n; i++)
    map[i] = i;
  block = map;
  munmap(map, N * sizeof *map);
  invisible_use(on_stack(n));
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  int n = count;
  int *heap = invisible_pointer(malloc(N * sizeof *heap));
  for (int i = 0; i < n; i++)
    heap[i] = -i;
  free(heap);
  int *map = mmap(0, N * sizeof *map, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < n; i++)
    map[i] = -i;
  munmap(map, N * sizeof *map);
  invisible_use(on_stack(n));
  return arg;
}

int main(void) { run2(first, second); }
