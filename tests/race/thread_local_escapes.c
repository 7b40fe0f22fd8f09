// A thread-local variable is private only as long as nobody else has its address.
// tsan: false alarm (it names its own initialisation of the thread-local instead of the write)
#include "two_threads.h"

_Thread_local int own;
int *leaked;

static void *owner(void *arg) {
  __asm__ volatile("movq %0, (%1)" : : "r"(&own), "r"(&leaked) : "memory");
  own = 1; // RACE a
  invisible_signal(1);
  invisible_wait(2);
  return arg;
}

static void *visitor(void *arg) {
  int *pointer;
  invisible_wait(1);
  __asm__ volatile("movq (%1), %0" : "=r"(pointer) : "r"(&leaked) : "memory");
  *pointer = 2; // RACE a
  invisible_signal(2);
  return arg;
}

int main(void) { run2(owner, visitor); }
