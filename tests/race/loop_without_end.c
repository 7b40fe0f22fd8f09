// A thread that loops for ever, without a call in the loop: its accesses race although it never gets past them. The process
// ends under it.
#include "two_threads.h"
#include <stdlib.h>

long *counter;
int table[64];

// Reads without being seen.
static long peek(const long *p) {
  long value;
  __asm__ volatile("movq (%1), %0" : "=r"(value) : "r"(p) : "memory");
  return value;
}

static void *endless(void *arg) {
  volatile long *c = counter;
  for (long i = 0;; i++) {
    (*c)++; // RACE a
    table[i % 64] = (int)i; // RACE b
  }
  return arg;
}

int main(void) {
  counter = calloc(1, sizeof *counter);
  start(endless);
  while (peek(counter) < 100000) {
  }
  *counter = 0; // RACE a
  table[63] = 1; // RACE b
  // The other side looks again, at the latest after some thousand rounds.
  long now = peek(counter);
  while (peek(counter) < now + 1000000) {
  }
  exit(0);
}
