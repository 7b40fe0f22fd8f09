// Indices that wrap around: the elements at the bottom are reached after those at the top, and only they race.
#include "two_threads.h"
#include <stdint.h>

int bytes[256], words[65536 + 8], apart[256];
volatile uint8_t first = 250;
volatile uint16_t start16 = 65530;

static void *other_side(void *arg) {
  bytes[3] = 1;  // RACE a
  words[5] = 1;  // RACE b
  apart[100] = 1;
  invisible_signal(1);
  return arg;
}

static void *loops(void *arg) {
  invisible_wait(1);
  uint8_t i = first;
  for (int n = 0; n < 12; n++, i++) {
    bytes[i] = n; // RACE a
    apart[i] = n;
  }
  for (uint16_t k = start16; k != 9; k++)
    words[k] = k; // RACE b
  return arg;
}

int main(void) { run2(other_side, loops); }
