// A 64-byte vector store writes the last of its bytes, which the other thread reads.
// flags: -mavx512f -mprefer-vector-width=512
// needs: avx512f
// tsan: misses (accesses wider than 16 bytes are not instrumented)
#include "two_threads.h"
#include <immintrin.h>

_Alignas(64) char block[64];

static void *vector(void *arg) {
  _mm512_store_si512(block, _mm512_set1_epi32(2)); // RACE a
  invisible_signal(1);
  return arg;
}

static void *scalar(void *arg) {
  invisible_wait(1);
  invisible_use(block[63]); // RACE a
  return arg;
}

int main(void) { run2(vector, scalar); }
