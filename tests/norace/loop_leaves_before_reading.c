// A loop that leaves in its first round has not read what it would read in each round, whoever writes that meanwhile. Its value may be
// fetched before the loop begins; that is nobody's access.
#include "two_threads.h"

enum { N = 100 };
struct slice {
  int *data;
  long length;
};
static int numbers[N], others[N];
static struct slice shared = {numbers, N};
int last;
volatile int none = -1;

static void *writes(void *arg) {
  shared = (struct slice){others, N - 1};
  last = 1;
  invisible_signal(1);
  invisible_wait(2);
  shared.length = N;
  last = 2;
  return arg;
}

// Reads `shared` and writes `last` after the test, in every round that passes it.
static long __attribute__((noinline)) sum(const int *key, int stop, long n) {
  long total = 0;
  for (long i = 0; i < n; i++) {
    if (key[i] == stop)
      return total;
    if (i >= shared.length)
      abort();
    total += shared.data[i];
    last = 3;
  }
  return total;
}

static void *reads(void *arg) {
  int key[N];
  for (int i = 0; i < N; i++)
    key[i] = none;
  invisible_wait(1);
  must(sum(key, none, N) == 0);
  must(sum(key, 7, none + 1) == 0);
  invisible_signal(2);
  return arg;
}

int main(void) { run2(writes, reads); }
