// An 8-byte write and a 1-byte read of its sixth byte: sizes differ, one byte is shared.
#include "two_threads.h"

union {
  long whole;
  char bytes[8];
} word;

static void *writer(void *arg) {
  word.whole = -1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *reader(void *arg) {
  invisible_wait(1);
  invisible_use(word.bytes[5]); // RACE a
  return arg;
}

int main(void) { run2(writer, reader); }
