// A successful compare-exchange releases; a failed one with an acquire failure order acquires.
#include "two_threads.h"

int flag;
int data;

static void *first(void *arg) {
  data = 1;
  int zero = 0;
  must(__atomic_compare_exchange_n(&flag, &zero, 1, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  int wrong = 7;
  must(!__atomic_compare_exchange_n(&flag, &wrong, 2, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  must(wrong == 1);
  data = 2;
  return arg;
}

int main(void) {
  run2(first, second);
}
