// Of a thousand rounds one conflicts: by a test, by an index that is no straight line, by an index from memory.
#include "two_threads.h"

enum { N = 1024 };
int tested, squares[N * 2], gathered[N], indices[N];
volatile int which = 517;

static void *other_side(void *arg) {
  tested = 1;           // RACE a
  squares[900] = 1;     // RACE b
  squares[901] = 1;
  gathered[700] = 1;    // RACE c
  gathered[701] = 1;
  invisible_signal(1);
  return arg;
}

static void *loops(void *arg) {
  invisible_wait(1);
  int k = which;
  for (int i = 0; i < N; i++)
    if (i == k)
      tested = i; // RACE a
  for (int i = 0; i < 40; i++)
    squares[i * i] = i; // RACE b
  for (int i = 0; i < N / 2; i++)
    gathered[indices[i]] = i; // RACE c
  return arg;
}

int main(void) {
  // Even numbers only.
  for (int i = 0; i < N; i++)
    indices[i] = i * 2 % N;
  run2(other_side, loops);
}
