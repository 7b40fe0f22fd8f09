// What belongs to a descriptor is kept under its number, as servers do: who closes it is done with that, and who gets the number next may
// have it.
#include "two_threads.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

int uses[1024];

static void *first(void *arg) {
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  must(fd >= 0 && fd < 1024);
  uses[fd]++;
  close(fd);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  int fd = open("/dev/null", O_RDONLY);
  must(fd >= 0 && uses[fd] == 1);
  close(fd);
  return arg;
}

int main(void) {
  run2(first, second);
}
