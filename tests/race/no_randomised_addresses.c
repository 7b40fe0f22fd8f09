// A race is found wherever the kernel puts things: without randomised addresses, and with memory mapped upwards.
#define _GNU_SOURCE
#include "two_threads.h"
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

int *shared;

static void *first(void *arg) {
  *shared = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  *shared = 2; // RACE a
  return arg;
}

int main(int count, char **arguments) {
  if (count < 3) {
    int layout = ADDR_NO_RANDOMIZE | (count == 2 ? ADDR_COMPAT_LAYOUT : 0);
    if (count == 2) {
      int on_stack;
      shared = &on_stack;
      run2(first, second);
    }
    must(personality(layout) >= 0);
    execl("/proc/self/exe", arguments[0], "fixed", count == 2 ? "upwards" : (char *)0, (char *)0);
    abort();
  }
  shared = malloc(sizeof *shared);
  run2(first, second);
}
