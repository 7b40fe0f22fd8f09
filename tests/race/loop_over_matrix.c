// A loop nest over part of a matrix: a corner races, what lies between the rows' ends does not.
#include "two_threads.h"

enum { ROWS = 40, COLUMNS = 60 };
double matrix[ROWS][COLUMNS], turned[ROWS][COLUMNS];
volatile int top = 5, left = 7, bottom = 30, right = 50;

static void *other_side(void *arg) {
  matrix[29][49] = 1; // RACE a
  matrix[10][50] = 1;
  matrix[11][6] = 1;
  matrix[30][20] = 1;
  turned[29][7] = 1; // RACE b
  turned[29][6] = 1;
  invisible_signal(1);
  return arg;
}

static void *nest(void *arg) {
  invisible_wait(1);
  int r0 = top, c0 = left, r1 = bottom, c1 = right;
  for (int r = r0; r < r1; r++)
    for (int c = c0; c < c1; c++)
      matrix[r][c] += 1; // RACE a
  // Column by column.
  for (int c = c0; c < c1; c++)
    for (int r = r0; r < r1; r++)
      turned[r][c] = r; // RACE b
  return arg;
}

int main(void) { run2(other_side, nest); }
