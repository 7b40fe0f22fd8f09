// An array of structures of three words begins on a page whose other words are plain memory that the threads have touched. A loop fills it, and
// another thread reads the last word of one of the first structures.
#include "two_threads.h"

struct triple {
  long a, b, c;
};
enum { COUNT = 400, BLOCKS = 16, WORDS = 15 };
static struct triple *triples;
static long *beside[BLOCKS];

static void *first(void *arg) {
  // The page has locations by word then, of which the checks know.
  for (int i = 0; i < BLOCKS * WORDS; i++)
    beside[i * 7 % BLOCKS][i * 29 % WORDS] += i;
  for (int round = 0; round < 2; round++)
    for (long i = 0; i < COUNT; i++)
      triples[i] = (struct triple){0, 0, 0}; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  return (void *)triples[1].c; // RACE a
}

int main(void) {
  for (int i = 0; i < BLOCKS; i++)
    beside[i] = calloc(WORDS, sizeof **beside);
  triples = calloc(COUNT, sizeof *triples);
  run2(first, second);
}
