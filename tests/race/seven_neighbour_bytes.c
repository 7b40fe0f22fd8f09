// Between the two racing accesses the seven other bytes of the aligned word are written. Shadow memory with four cells
// a word has forgotten the first access by then.
// tsan: misses (four shadow cells for eight bytes; the racing one is evicted)
#include "two_threads.h"

_Alignas(8) char word[8];

static void *first(void *arg) {
  word[0] = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  char *w = invisible_pointer(word);
  invisible_wait(1);
  w[1] = 1;
  invisible_use(0);
  w[2] = 1;
  invisible_use(0);
  w[3] = 1;
  invisible_use(0);
  w[4] = 1;
  invisible_use(0);
  w[5] = 1;
  invisible_use(0);
  w[6] = 1;
  invisible_use(0);
  w[7] = 1;
  invisible_use(0);
  w[0] = 2; // RACE a
  return arg;
}

int main(void) { run2(first, second); }
