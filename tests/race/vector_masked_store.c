// A masked vector store writes lanes 1 and 3 only; the other thread wrote lane 3.
// flags: -mavx512f -mavx512vl
// needs: avx512vl
// tsan: misses (masked stores are not instrumented)
#include "two_threads.h"
#include <immintrin.h>

_Alignas(32) int lanes[8];

static void *scalar(void *arg) {
  lanes[3] = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *vector(void *arg) {
  invisible_wait(1);
  _mm256_mask_store_epi32(lanes, 0x0a, _mm256_set1_epi32(7)); // RACE a
  return arg;
}

int main(void) { run2(scalar, vector); }
