// The hand-over is invisible, and the program says where it is: footrace_release, footrace_acquire.
// tsan: false alarm (it has other names for this)
#include "two_threads.h"

void footrace_release(const volatile void *object) __attribute__((weak));
void footrace_acquire(const volatile void *object) __attribute__((weak));

int data;

static void *first(void *arg) {
  data = 1;
  if (footrace_release)
    footrace_release(&data);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  if (footrace_acquire)
    footrace_acquire(&data);
  data = 2;
  return arg;
}

int main(void) { run2(first, second); }
