// Blocks that are written before anybody else can know of them, and handed over under a lock; and blocks that nobody ever hears of, in
// memory that both threads get from the allocator one after the other.
#include "two_threads.h"

static int *kept, *grown;

__attribute__((noinline)) static void keeps(int *block) { kept = invisible_pointer(block); }

__attribute__((noinline)) static void passes_on(int *block) {
  block[1] = 5;
  keeps(block);
}

static int *published;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static int sum(const int *block, int count) {
  int total = 0;
  for (int i = 0; i < count; i++)
    total += block[i];
  return total;
}

// Nobody else sees its block.
static void alone(void) {
  volatile int size = 10;
  for (int round = 0; round < 100; round++) {
    int count = size, *block = malloc(count * sizeof *block);
    for (int i = 0; i < count; i++)
      block[i] = i;
    block = realloc(block, 2 * count * sizeof *block);
    invisible_use(sum(block, count));
    free(block);
  }
}

static void *owner(void *arg) {
  int *first = malloc(40);
  first[0] = 1;
  int *second = malloc(40);
  second[2] = 2;
  passes_on(second);
  int *third = malloc(40);
  third[3] = 3;
  int *more = realloc(third, 400);
  more[4] = 4;
  int *where = invisible_pointer(first);
  __asm__ volatile("movq %0, %1" : : "r"(where), "m"(published) : "memory");
  __asm__ volatile("movq %0, %1" : : "r"(more), "m"(grown) : "memory");
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  alone();
  invisible_signal(1);
  return arg;
}

static void *visitor(void *arg) {
  invisible_wait(1);
  alone();
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  int *first, *second, *third;
  __asm__ volatile("movq %1, %0" : "=r"(first) : "m"(published) : "memory");
  __asm__ volatile("movq %1, %0" : "=r"(second) : "m"(kept) : "memory");
  __asm__ volatile("movq %1, %0" : "=r"(third) : "m"(grown) : "memory");
  first[0] = 6;
  second[2] = 7;
  third[4] = 8;
  return arg;
}

int main(void) { run2(owner, visitor); }
