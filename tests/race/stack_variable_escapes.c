// A thread's local variable, whose address another thread got, is written by both.
#include "two_threads.h"

int *leaked;

static void *owner(void *arg) {
  int local;
  leaked = invisible_pointer(&local);
  invisible_signal(1);
  invisible_wait(2);
  local = 1; // RACE a
  invisible_signal(3);
  // The variable lives until the visitor has been there.
  invisible_wait(4);
  return arg;
}

static void *visitor(void *arg) {
  invisible_wait(3);
  *(int *)arg = 2; // RACE a
  invisible_signal(4);
  return 0;
}

int main(void) {
  pthread_t first = start(owner), second;
  invisible_wait(1);
  // The pointer itself is read here by assembly, so that only the variable is raced on.
  int *pointer;
  __asm__ volatile("movq (%1), %0" : "=r"(pointer) : "r"(&leaked) : "memory");
  pthread_create(&second, 0, visitor, pointer);
  invisible_signal(2);
  pthread_join(second, 0);
  pthread_join(first, 0);
}
