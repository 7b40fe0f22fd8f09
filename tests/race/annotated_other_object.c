// footrace_release and footrace_acquire name different objects: they order nothing.
#include "two_threads.h"

void footrace_release(const volatile void *object) __attribute__((weak));
void footrace_acquire(const volatile void *object) __attribute__((weak));

int data, other;

static void *first(void *arg) {
  data = 1; // RACE a
  if (footrace_release)
    footrace_release(&other);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  if (footrace_acquire)
    footrace_acquire(&data);
  data = 2; // RACE a
  return arg;
}

int main(void) { run2(first, second); }
