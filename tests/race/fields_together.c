// Fields side by side are checked at once: two, three or four words, also where a page ends. Each of them can be the one that races.
#include "two_threads.h"

struct four {
  double a, b, c, d;
};
_Alignas(4096) static char pages[3][8192];
static struct four *inside, *across, *again;

static void *writes(void *arg) {
  inside->d = 1;  // RACE a
  across->c = 1;  // RACE b
  again->b = 1;   // RACE c
  invisible_signal(1);
  return arg;
}

static double __attribute__((noinline)) sum(const struct four *s) { // four words
  return s->a + s->b + s->c + s->d; // RACE a
}

static double __attribute__((noinline)) three(const struct four *s) {
  return s->a + s->b + s->c; // RACE b
}

static void __attribute__((noinline)) two(struct four *s, double x) {
  s->a = x;
  s->b = x; // RACE c
}

static void *reads(void *arg) {
  // Often enough that the first, quick test answers for the words that are known already.
  double total = 0;
  for (int i = 0; i < 3; i++)
    total += inside->a + across->a + across->b;
  invisible_wait(1);
  total += sum(inside) + three(across);
  two(again, total);
  must(total == 2);
  return arg;
}

int main(void) {
  inside = (struct four *)pages[0];
  across = (struct four *)(pages[1] + 4096 - 16);
  again = (struct four *)(pages[2] + 4096 - 8);
  run2(writes, reads);
}
