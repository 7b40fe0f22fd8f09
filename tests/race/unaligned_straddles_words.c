// An unaligned 8-byte write reaches two bytes into the next word, and one of those is read by the other thread.
#include "two_threads.h"
#include <string.h>

_Alignas(16) char bytes[16];

struct __attribute__((packed)) unaligned {
  char skip[2];
  long value;
};

static void *writer(void *arg) {
  ((struct unaligned *)invisible_pointer(bytes))->value = -1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *reader(void *arg) {
  invisible_wait(1);
  invisible_use(bytes[9]); // RACE a
  return arg;
}

int main(void) { run2(writer, reader); }
