// Each thread writes its own bytes of one aligned word.
#include "two_threads.h"

_Alignas(8) char word[8];

static void *first(void *arg) {
  for (int i = 0; i < 8; i += 2)
    ((char *)invisible_pointer(word))[i] = 1;
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  for (int i = 1; i < 8; i += 2)
    ((char *)invisible_pointer(word))[i] = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
