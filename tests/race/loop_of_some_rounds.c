// Loops that access something only while their counter is between bounds: the first and the last such place race.
#include "two_threads.h"

enum { N = 64 };
double above[N], here[N];
int low[N], high[N];
volatile long size = N, from = 5, to = 40;

static void *outside(void *arg) {
  above[N - 2] = 1; // RACE a
  above[N - 1] = 1;
  low[6] = 1; // RACE b
  low[5] = 1;
  high[39] = 1; // RACE c
  high[40] = 1;
  invisible_signal(1);
  return arg;
}

static void *inside(void *arg) {
  invisible_wait(1);
  long n = size, a = from, b = to;
  double sum = 0;
  for (long j = 0; j < n; j++) {
    sum += here[j];
    if (j > 0 && j < n - 1)
      sum += above[j]; // RACE a
  }
  here[0] = sum;
  for (long j = 0; j < n; j++)
    if (j > a)
      low[j] = 1; // RACE b
  for (long j = 0; j < n; j++)
    if (j < b)
      high[j] = 1; // RACE c
  return arg;
}

int main(void) { run2(outside, inside); }
