// Loops over indices in memory: the bytes that race are those that were accessed, also if the indices change meanwhile, in the loop or by a race.
#include "two_threads.h"

enum { N = 1000, SPARE = 4000 };
int from[N], to[N], moving[N], racing[N];
double x[N], y[N];
short counts[SPARE];
char bytes[SPARE];
long far[SPARE], near[SPARE];
int changed;

static void *other_side(void *arg) {
  x[77] = 1;       // RACE a
  counts[303] = 1; // RACE b
  bytes[2496] = 1; // RACE c
  bytes[2506] = 1;
  near[20] = 1; // RACE d
  near[1500] = 1;
  far[1001] = 1;
  invisible_signal(1);
  // Until the last of the other thread's writes is there.
  long last = 0;
  while (last != N)
    __asm__ volatile("movq (%1), %0" : "=r"(last) : "r"(&far[2001]) : "memory");
  for (int i = 0; i < N; i++)
    racing[i] = 1; // RACE e
  __asm__ volatile("movl $1, (%0)" : : "r"(&changed) : "memory");
  return arg;
}

// More rounds than a list has room for, and fewer.
__attribute__((noinline)) static void lists(void) {
  for (int i = 0; i < N; i++)
    y[to[i]] += x[from[i]]; // RACE a
  for (int i = 0; i < 5; i++)
    counts[300 + from[i]]++; // RACE b
  for (int i = 0; i < N; i++) {
    if (from[i] == 501)
      break;
    bytes[5 * from[i] + 1] = 1; // RACE c
  }
}

__attribute__((noinline)) static void changing_lists(void) {
  // The loop itself moves its indices on: it was at 20, and never at 1500.
  for (int i = 0; i < N; i++) {
    near[moving[i]] = i; // RACE d
    moving[i] += 1480;
  }
  // The other thread sets these to 1 before the loop is left: 1001 was not accessed.
  for (int i = 0; i < N; i++) {
    int at = racing[i]; // RACE e
    far[at + 1000] = i + 1;
    for (long round = 0; at == N + 1 && round < 1l << 40; round++)
      if (__atomic_load_n(&changed, __ATOMIC_RELAXED))
        break;
  }
}

static void *loops(void *arg) {
  invisible_wait(1);
  lists();
  changing_lists();
  return arg;
}

int main(void) {
  for (int i = 0; i < N; i++) {
    from[i] = i;
    to[i] = i * 7 % N;
    moving[i] = 20 + i % 10;
    racing[i] = 2 + i;
  }
  run2(other_side, loops);
}
