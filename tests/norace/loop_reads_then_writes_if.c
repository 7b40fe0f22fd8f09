// Both threads read all of an array; each writes only what is its own, and only in rounds that say so. The reads are of what nobody writes.
#include "two_threads.h"

enum { N = 2000 };
int input[N], output[N];
long totals[2][32];

static void *side(long me) {
  long sum = 0;
  for (int i = 0; i < N; i++) {
    sum += input[i];
    if (input[i] % 2 == me)
      output[i] = (int)sum;
    if (i % 64 == 63)
      totals[me][i / 64] = sum;
  }
  return 0;
}

static void *first(void *arg) {
  side(0);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  side(1);
  return arg;
}

int main(void) {
  for (int i = 0; i < N; i++)
    input[i] = i * 5 / 3;
  run2(first, second);
}
