// Memory is given back right after a loop that read it and another block, into which somebody wrote: the reads of that one race. What
// moves into the freed memory afterwards is something else.
#include "two_threads.h"

enum { N = 4096 };
long *block, *other, *again;

static void *writer(void *arg) {
  block[N / 2] = 1; // RACE a
  invisible_signal(1);
  invisible_wait(2);
  again = malloc(N * sizeof *again);
  for (int i = 0; i < N; i++)
    again[i] = i;
  return arg;
}

static void *reader(void *arg) {
  invisible_wait(1);
  long sum = 0;
  for (int i = 0; i < N; i++) {
    sum += block[i]; // RACE a
    sum += other[i];
  }
  invisible_use(sum);
  free(other);
  invisible_signal(2);
  return arg;
}

int main(void) {
  block = calloc(N, sizeof *block);
  other = calloc(N, sizeof *other);
  run2(writer, reader);
  free(again);
  free(block);
}
