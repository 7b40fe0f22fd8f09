// A loop reads its array's address again in each round, and once it is another one. Of the first array the elements before that race, of
// the second one those behind it.
#include "two_threads.h"

enum { N = 200 };
char first[N], second[N];
struct walk {
  char *at;
  int n;
} shared = {first, N};
volatile int turn = 100;

static void *other_side(void *arg) {
  first[99] = 1; // RACE a
  first[101] = 1;
  second[98] = 1;
  second[100] = 1; // RACE b
  invisible_signal(1);
  return arg;
}

__attribute__((noinline)) void go(struct walk *walk, char **where, int changes) {
  for (int i = 0; i < walk->n; i++) {
    if (i == changes)
      *where = second;
    walk->at[i] = 7; // RACE a b
  }
}

static void *loops(void *arg) {
  invisible_wait(1);
  go(&shared, &shared.at, turn);
  return arg;
}

int main(void) { run2(other_side, loops); }
