// A race is found with 8 GB of address space (ulimit -v), which has to do for program and detector.
// tsan: crashes (its shadow needs terabytes of addresses)
#define _GNU_SOURCE
#include "two_threads.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BYTES = 64 << 20 };
char *block;

static void *first(void *arg) {
  memset(block, 1, BYTES); // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  block[BYTES - 1] = 2; // RACE a
  return arg;
}

int main(int count, char **arguments) {
  if (count == 1) {
    // The limit must be there when the process begins.
    struct rlimit limit = {8ULL << 30, 8ULL << 30};
    must(!setrlimit(RLIMIT_AS, &limit));
    execl("/proc/self/exe", arguments[0], "limited", (char *)0);
    abort();
  }
  block = malloc(BYTES);
  must(block != 0);
  run2(first, second);
}
