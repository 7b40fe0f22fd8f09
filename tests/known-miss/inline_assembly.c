// One of the two writes is made by inline assembly, which the compiler passes through unseen.
// tsan: misses (assembly is not instrumented)
#include "two_threads.h"

int shared;

static void *assembly(void *arg) {
  __asm__ volatile("movl $1, %0" : "=m"(shared)); // RACE a
  invisible_signal(1);
  return arg;
}

static void *plain(void *arg) {
  invisible_wait(1);
  shared = 2; // RACE a
  return arg;
}

int main(void) { run2(assembly, plain); }
