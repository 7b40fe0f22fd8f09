// The program races and then replaces itself by another program, which is quiet and ends with 0.
// tsan: exits 0 (the report is printed, the exit code is that of the new program)
#include "two_threads.h"
#include <unistd.h>

int shared;

static void *first(void *arg) {
  shared = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  shared = 2; // RACE a
  return arg;
}

int main(void) {
  run2(first, second);
  execl("/bin/true", "true", (char *)0);
  return 1;
}
