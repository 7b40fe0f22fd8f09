// An 80-bit number is stored as ten bytes; the other thread touches the ninth.
// tsan: misses (it does not instrument a ten-byte store)
#include "two_threads.h"

union {
  long double number;
  char bytes[16];
} value;
double input = 1.5;

static void *writer(void *arg) {
  value.number = input; // RACE a
  invisible_signal(1);
  return arg;
}

static void *reader(void *arg) {
  invisible_wait(1);
  invisible_use(value.bytes[8]); // RACE a
  return arg;
}

int main(void) { run2(writer, reader); }
