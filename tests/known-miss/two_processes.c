// Parent and child write one shared page at the same time. Each process has a detector of its own, and they do not
// talk.
// tsan: misses (as every in-process detector)
#include "two_threads.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  int *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  must(page != MAP_FAILED);
  pid_t child = fork();
  must(child >= 0);
  if (child == 0) {
    *page = 1; // RACE a
    _exit(0);
  }
  *page = 2; // RACE a
  waitpid(child, 0, 0);
}
