// The memory and string functions of libc work on neighbouring ranges: they touch exactly their bytes.
#include "two_threads.h"
#include <string.h>

char buffer[64] = "abcdefg";
long half = 32;

static void *first(void *arg) {
  char *low = invisible_pointer(buffer);
  memset(low + 8, 'x', half - 8);
  memmove(low + 9, low + 8, half - 9);
  strcpy(low, "abc");
  must(strlen(low) == 3);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  char *high = (char *)invisible_pointer(buffer) + half;
  memset(high, 'y', half);
  memcpy(high, high + half / 2, half / 2);
  must(memcmp(high, high + half / 2, half / 2) == 0);
  return arg;
}

int main(void) { run2(first, second); }
