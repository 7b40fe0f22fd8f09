// A loop is left by longjmp, from a function that it calls: what it wrote until then races.
#include "two_threads.h"
#include <setjmp.h>

enum { N = 200 };
int direct[N], called[N], beyond[N];
static jmp_buf out;

static void *other_side(void *arg) {
  direct[99] = 1;  // RACE a
  called[100] = 1; // RACE b
  beyond[101] = 1;
  invisible_signal(1);
  return arg;
}

static void __attribute__((noinline)) leave_at(int i, int limit) {
  if (i == limit)
    longjmp(out, 1);
}

static void __attribute__((noinline)) fill(int *array, int n, int limit) {
  for (int i = 0; i < n; i++) {
    array[i] = i; // RACE b
    leave_at(i, limit);
  }
}

static void __attribute__((noinline)) fill_beyond(int *array, int n, int limit) {
  for (int i = 0; i < n; i++) {
    leave_at(i, limit);
    array[i] = i;
  }
}

static void __attribute__((noinline)) fill_directly(int *array, int n, int limit) {
  for (int i = 0; i < n; i++) {
    if (i == limit)
      longjmp(out, 1);
    array[i] = i; // RACE a
  }
}

static void *loops(void *arg) {
  invisible_wait(1);
  if (!setjmp(out))
    fill_directly(direct, N, 100);
  if (!setjmp(out))
    fill(called, N, 100);
  if (!setjmp(out))
    fill_beyond(beyond, N, 101);
  return arg;
}

int main(void) { run2(other_side, loops); }
