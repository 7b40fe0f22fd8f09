// sscanf() writes a number that the other thread reads.
#include "two_threads.h"
#include <stdio.h>

long number;

static void *first(void *arg) {
  char word[8];
  must(sscanf("abc 12 -5", "%3s %*d %ld", word, &number) == 2); // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(number == -5); // RACE a
  return arg;
}

int main(void) {
  run2(first, second);
}
