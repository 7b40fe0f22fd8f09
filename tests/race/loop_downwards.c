// Loops that walk down: by one, by three, by pointer. The last element that they touch races; the one below does not.
#include "two_threads.h"

enum { N = 300 };
int ones[N], threes[N], walked[N], below[N];
volatile int from = N - 1, to = 10;

static void *other_side(void *arg) {
  ones[10] = 1;    // RACE a
  threes[11] = 1;  // RACE b
  threes[12] = 1;
  walked[20] = 1;  // RACE c
  below[9] = 1;
  invisible_signal(1);
  return arg;
}

static void *loops(void *arg) {
  invisible_wait(1);
  int high = from, low = to;
  for (int i = high; i >= low; i--)
    ones[i] = i; // RACE a
  // 299, 296, …, 14, 11.
  for (int i = high; i >= low; i -= 3)
    threes[i] = i; // RACE b
  for (int *p = walked + high; p != walked + low; p--)
    *p = 7; // RACE c
  for (long i = high; i >= low; --i)
    below[i] = 1;
  return arg;
}

int main(void) { run2(other_side, loops); }
