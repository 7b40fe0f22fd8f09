// An atomic counter and a plain field in one word, then all of the word at once: the plain write of the field is ordered, the atomic add is not.
#include "two_threads.h"

union {
  struct {
    int count, field;
  } halves;
  long whole;
} word;
int flag;

static void *writer(void *arg) {
  word.halves.field = 1;
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  __atomic_fetch_add(&word.halves.count, 1, __ATOMIC_RELAXED); // RACE a
  invisible_signal(1);
  return arg;
}

static void *reader(void *arg) {
  invisible_wait(1);
  must(__atomic_load_n(&flag, __ATOMIC_ACQUIRE) == 1);
  invisible_use(word.whole); // RACE a
  return arg;
}

int main(void) { run2(writer, reader); }
