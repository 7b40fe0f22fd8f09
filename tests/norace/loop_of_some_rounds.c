// Loops that access something only while their counter is between bounds. What the bounds leave out is somebody else's.
#include "two_threads.h"
#include <limits.h>

enum { N = 64 };
double above[N], below[N], here[N];
int low[N], high[N], middle[N];
volatile long size = N, from = 5, to = 40;
volatile int last = INT_MAX;

static void *outside(void *arg) {
  above[0] = above[N - 1] = 1;
  below[0] = below[N - 1] = 1;
  for (int i = 0; i < 6; i++)
    low[i] = i;
  for (int i = 40; i < N; i++)
    high[i] = i;
  middle[4] = middle[40] = 1;
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
      sum += above[j] + below[j] + here[j - 1] + here[j + 1];
  }
  here[0] = sum;
  for (long j = 0; j < n; j++) {
    if (j > a)
      low[j] = 1;
    if (j < b)
      high[j] = 1;
    if (j >= a && j < b)
      middle[j] = 1;
  }
  // Bounds that are never reached, and one that always is.
  int end = last;
  for (int j = 0; j < 4; j++) {
    if (j > end)
      middle[4] = 1;
    if (j >= end - 1)
      middle[40] = 1;
    if (j < end)
      middle[j] = 1;
  }
  return arg;
}

int main(void) { run2(outside, inside); }
