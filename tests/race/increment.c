// Both threads run the same line, `counter++` without a lock: both sides of the race are one source line.
#include "two_threads.h"

int counter;

static void count(void) {
  counter++; // RACE a
}

static void *first(void *arg) {
  count();
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  count();
  return arg;
}

int main(void) { run2(first, second); }
