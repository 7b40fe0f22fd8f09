// What a loop reads or writes at the same place in each round, behind a test that may leave it: one round is enough for a race,
// wherever the loop is left.
#include "two_threads.h"

enum { N = 100, STOP = 1 };
struct slice {
  int *data;
  long length;
};
static int numbers[N], others[N];
static struct slice shared = {numbers, N};
int last;
volatile int key[N];

static void *writes(void *arg) {
  shared.data = others; // RACE a
  last = 1;             // RACE b
  others[0] = 1;        // RACE c
  others[STOP] = 1;
  invisible_signal(1);
  return arg;
}

static long __attribute__((noinline)) sum(long n) {
  long total = 0;
  for (long i = 0; i < n; i++) {
    if (key[i] == STOP)
      exit(total == 1 ? 0 : 2);
    if (i >= shared.length)
      abort();
    total += shared.data[i]; // RACE a c
    last = 3;                // RACE b
  }
  return total;
}

static void *reads(void *arg) {
  invisible_wait(1);
  sum(N);
  return arg;
}

int main(void) {
  key[STOP] = STOP;
  run2(writes, reads);
}
