// The race is between two threads of a forked child. The parent is quiet.
// tsan: exits 0 (the child reports and ends with 66, but nobody tells the caller of the parent)
#include "two_threads.h"
#include <sys/wait.h>
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
  pid_t child = fork();
  must(child >= 0);
  if (child == 0) {
    run2(first, second);
    return 0;
  }
  waitpid(child, 0, 0);
}
