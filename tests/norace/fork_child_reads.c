// A forked child works on a copy of what its parent wrote; the parent goes on meanwhile.
#include "two_threads.h"
#include <sys/wait.h>
#include <unistd.h>

int data;

int main(void) {
  data = 1;
  pid_t child = fork();
  must(child >= 0);
  if (child == 0) {
    must(data == 1);
    data = 2;
    _exit(0);
  }
  data = 3;
  int status;
  waitpid(child, &status, 0);
  must(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
