// A new block is written before anybody else can know of it, and then handed over without synchronisation: the early write
// races, although the block was private when it was made. The second block is handed over by a callee of a callee, the third one after it
// has grown.
#include "two_threads.h"

static int *kept, *grown;

__attribute__((noinline)) static void keeps(int *block) { kept = invisible_pointer(block); }

__attribute__((noinline)) static void passes_on(int *block) {
  block[1] = 5;
  keeps(block);
}

static int *published;

static void *owner(void *arg) {
  int *first = malloc(40);
  first[0] = 1; // RACE a
  int *second = malloc(40);
  second[2] = 2; // RACE b
  passes_on(second);
  int *third = malloc(40);
  third[3] = 3;
  int *more = realloc(third, 400);
  more[40] = 4; // RACE c
  int *where = invisible_pointer(first);
  __asm__ volatile("movq %0, %1" : : "r"(where), "m"(published) : "memory");
  __asm__ volatile("movq %0, %1" : : "r"(more), "m"(grown) : "memory");
  invisible_signal(1);
  return arg;
}

static void *visitor(void *arg) {
  invisible_wait(1);
  int *first, *second, *third;
  __asm__ volatile("movq %1, %0" : "=r"(first) : "m"(published) : "memory");
  __asm__ volatile("movq %1, %0" : "=r"(second) : "m"(kept) : "memory");
  __asm__ volatile("movq %1, %0" : "=r"(third) : "m"(grown) : "memory");
  first[0] = 6;  // RACE a
  second[2] = 7; // RACE b
  third[40] = 8; // RACE c
  return arg;
}

int main(void) { run2(owner, visitor); }
