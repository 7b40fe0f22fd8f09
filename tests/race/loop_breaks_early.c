// A loop over an array ends before its bound: what it reached races, what lies behind the exit does not.
#include "two_threads.h"

enum { N = 1000, STOP = 300 };
int reached[N], tail[N], other[N];
volatile int stop = STOP;

static void *other_side(void *arg) {
  reached[STOP - 1] = 1;  // RACE a
  tail[STOP + 1] = 1;
  other[STOP] = 1; // RACE b
  invisible_signal(1);
  return arg;
}

static int seek(int *array, int n, int limit) {
  int i = 0;
  for (; i < n; i++) {
    if (i == limit)
      break;
    array[i] = i; // RACE a
  }
  return i;
}

static int seek_after(int *array, int n, int limit) {
  int i = 0;
  do {
    array[i] = i; // RACE b
    if (i == limit)
      return i;
  } while (++i < n);
  return -1;
}

static int __attribute__((noinline)) seek_tail(int *array, int n, int limit) {
  for (int i = 0; i < n; i++) {
    if (i >= limit)
      return i;
    array[i] = i;
  }
  return n;
}

static void *loops(void *arg) {
  invisible_wait(1);
  int limit = stop;
  must(seek(reached, N, limit) == STOP);
  must(seek_tail(tail, N, limit) == STOP);
  must(seek_after(other, N, limit) == STOP);
  return arg;
}

int main(void) { run2(other_side, loops); }
