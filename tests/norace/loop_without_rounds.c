// Loops whose bounds say that there is nothing to do, in all the ways bounds can be the wrong way round.
#include "two_threads.h"
#include <limits.h>
#include <stdint.h>
#include <string.h>

enum { N = 100 };
int array[N];
volatile int low = 50, high = 10, none = 0, minus = -5;
volatile uint32_t zero = 0;
volatile size_t nothing = 0;

static void *writes(void *arg) {
  for (int i = 0; i < N; i++)
    array[i] = i;
  invisible_signal(1);
  return arg;
}

static void *loops(void *arg) {
  invisible_wait(1);
  int from = low, to = high, n = none, m = minus;
  for (int i = from; i < to; i++)
    array[i] = 1;
  for (int i = to; i > from; i--)
    array[i] = 1;
  for (int i = 0; i < n; i++)
    array[i] = 1;
  for (long i = 0; i < m; i++)
    array[i] = 1;
  for (uint32_t i = zero; i-- > 0;)
    array[i] = 1;
  for (int *p = array + from; p < array + to; p += 2)
    *p = 1;
  while (n-- > 0)
    array[n] = 1;
  size_t length = nothing;
  memset(array, 1, length);
  return arg;
}

int main(void) { run2(writes, loops); }
