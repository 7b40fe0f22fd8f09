// A loop is left by an exception: thrown in it, by a function that it calls, through a frame with a destructor.
#include "two_threads.h"

enum { N = 200 };
int thrown[N], called[N], cleaned[N], beyond[N];

static void *other_side(void *arg) {
  thrown[99] = 1;  // RACE a
  called[100] = 1; // RACE b
  cleaned[7] = 1;  // RACE c
  beyond[101] = 1;
  invisible_signal(1);
  return arg;
}

static void __attribute__((noinline)) leave_at(int i, int limit) {
  if (i == limit)
    throw i;
}

struct Counter {
  int &sum;
  ~Counter() { sum++; }
};

static void __attribute__((noinline)) fill_directly(int *array, int n, int limit) {
  for (int i = 0; i < n; i++) {
    if (i == limit)
      throw i;
    array[i] = i; // RACE a
  }
}

static void __attribute__((noinline)) fill(int *array, int n, int limit) {
  for (int i = 0; i < n; i++) {
    array[i] = i; // RACE b
    leave_at(i, limit);
  }
}

static void __attribute__((noinline)) fill_and_clean(int *array, int n, int limit, int &sum) {
  for (int i = 0; i < n; i++) {
    Counter counter{sum};
    leave_at(i, limit);
    array[i] = i; // RACE c
  }
}

static void __attribute__((noinline)) fill_beyond(int *array, int n, int limit) {
  for (int i = 0; i < n; i++) {
    leave_at(i, limit);
    array[i] = i;
  }
}

template <class Body> static void caught(Body body) {
  try {
    body();
  } catch (int) {
  }
}

static void *loops(void *arg) {
  invisible_wait(1);
  int sum = 0;
  caught([] { fill_directly(thrown, N, 100); });
  caught([] { fill(called, N, 100); });
  caught([&] { fill_and_clean(cleaned, N, 50, sum); });
  caught([] { fill_beyond(beyond, N, 101); });
  must(sum == 51);
  return arg;
}

int main() { run2(other_side, loops); }
