// 32-bit unsigned indices and 64-bit addresses: sums that wrap in 32 bits, and bounds that are huge as signed numbers.
#include "two_threads.h"
#include <stdint.h>

int low[64], big[64];
volatile uint32_t offset = 0xFFFFFFF0u, start_at = 0x80000000u;

static void *other_side(void *arg) {
  low[4] = 1; // RACE a
  big[8] = 1; // RACE b
  invisible_signal(1);
  return arg;
}

static void *loops(void *arg) {
  invisible_wait(1);
  uint32_t from = offset;
  // i + from wraps: it walks over 0 .. 15.
  for (uint32_t i = 16; i < 32; i++)
    low[i + from] = 2; // RACE a
  uint32_t base = start_at;
  for (uint32_t i = base; i < base + 16u; i++)
    big[i - 0x80000000u] = 2; // RACE b
  return arg;
}

int main(void) { run2(other_side, loops); }
