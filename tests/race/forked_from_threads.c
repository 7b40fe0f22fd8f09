// A process that already has threads forks; two new threads of the child race.
// tsan: crashes (it ends a child of a multi-threaded process that creates a thread)
#include "two_threads.h"
#include <sys/wait.h>
#include <unistd.h>

int shared;

static void *idle(void *arg) {
  invisible_wait(9);
  return arg;
}

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
  pthread_t other = start(idle);
  pid_t child = fork();
  must(child >= 0);
  if (child == 0) {
    run2(first, second);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  invisible_signal(9);
  pthread_join(other, 0);
  return WIFEXITED(status) ? 0 : 1;
}
