// A masked vector store writes even lanes only; the odd ones belong to the other thread.
// flags: -mavx512f -mavx512vl
// needs: avx512vl
#include "two_threads.h"
#include <immintrin.h>

_Alignas(32) int lanes[8];

static void *first(void *arg) {
  for (int i = 1; i < 8; i += 2)
    ((int *)invisible_pointer(lanes))[i] = 1;
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  _mm256_mask_store_epi32(lanes, 0x55, _mm256_set1_epi32(7));
  return arg;
}

int main(void) {
  run2(first, second);
}
