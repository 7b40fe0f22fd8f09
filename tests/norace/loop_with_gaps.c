// Two threads share an array without sharing an element: odd and even, chosen by a mask, by a table, by parity of the row, by the field.
#include "two_threads.h"

enum { N = 1000, ROWS = 20 };
int parity[N], masked[N], mask[N], chosen[N], table[2][N / 2], rows[ROWS][ROWS];
struct {
  int mine, yours;
} fields[N];
volatile int size = N;

static void side(int me) {
  int n = size;
  for (int i = me; i < n; i += 2)
    parity[i] = i;
  for (int i = 0; i < n; i++)
    if (mask[i] == me)
      masked[i] = i;
  for (int i = 0; i < n / 2; i++)
    chosen[table[me][i]] = i;
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < ROWS; c++)
      if (r % 2 == me)
        rows[r][c] = c;
}

static void *even(void *arg) {
  side(0);
  for (int i = 0; i < N; i++)
    fields[i].mine++;
  invisible_signal(1);
  return arg;
}

static void *odd(void *arg) {
  invisible_wait(1);
  side(1);
  for (int i = N; i-- > 0;)
    fields[i].yours++;
  return arg;
}

int main(void) {
  for (int i = 0; i < N; i++) {
    mask[i] = i * 7 / 3 % 2;
    table[i % 2][i / 2] = i;
  }
  run2(even, odd);
}
