// Two unaligned halves of twelve bytes that share a word but no byte.
#include "two_threads.h"

struct __attribute__((packed)) {
  char skip[2];
  int left;
  int right;
} packed;

static void *first(void *arg) {
  packed.left = -1;
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  packed.right = -1;
  return arg;
}

int main(void) {
  run2(first, second);
}
