// An atomic store of four bytes and a plain read of the third of them.
#include "two_threads.h"

union {
  int whole;
  char bytes[4];
} word;

static void *writer(void *arg) {
  __atomic_store_n(&word.whole, 1, __ATOMIC_RELEASE); // RACE a
  invisible_signal(1);
  return arg;
}

static void *reader(void *arg) {
  invisible_wait(1);
  invisible_use(word.bytes[2]); // RACE a
  return arg;
}

int main(void) { run2(writer, reader); }
