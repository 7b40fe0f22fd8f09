// Fields side by side are checked at once; the one next to them belongs to another thread.
#include "two_threads.h"

struct fields {
  double a, b, c, d, e;
};
_Alignas(4096) static char pages[2][8192];
static struct fields *inside, *across;

static void __attribute__((noinline)) outer(struct fields *s, double x) {
  s->a = x;
  s->e = x;
}

static double __attribute__((noinline)) inner(struct fields *s, double x) {
  double sum = s->b + s->c + s->d;
  s->c = s->d = x;
  return sum;
}

static void *first(void *arg) {
  for (int i = 0; i < 100; i++) {
    outer(inside, i);
    outer(across, i);
  }
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  double sum = 0;
  for (int i = 0; i < 100; i++)
    sum += inner(inside, 1) + inner(across, 1);
  invisible_wait(1);
  sum += inner(inside, 1) + inner(across, 1);
  must(sum == 400);
  return arg;
}

int main(void) {
  inside = (struct fields *)(pages[0] + 64);
  across = (struct fields *)(pages[1] + 4096 - 24);
  run2(first, second);
}
