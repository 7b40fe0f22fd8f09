// bsearch() calls back into the program: the comparison reads an element that the other thread has written. The stack
// of that access goes through libc.
#include "two_threads.h"

int numbers[1] = {8};

static void *writer(void *arg) {
  numbers[0] = 9; // RACE a
  invisible_signal(1);
  return arg;
}

static int compare(const void *key, const void *element) {
  (void)key;
  return *(const int *)element - 9; // RACE a
}

static void *searcher(void *arg) {
  invisible_wait(1);
  int key = 9;
  must(bsearch(&key, numbers, 1, sizeof *numbers, compare) != 0);
  return arg;
}

int main(void) { run2(writer, searcher); }
