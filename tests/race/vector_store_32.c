// A 32-byte vector store writes byte 20, which the other thread has written.
// flags: -mavx2
// needs: avx2
// tsan: misses (accesses wider than 16 bytes are not instrumented)
#include "two_threads.h"
#include <immintrin.h>

_Alignas(32) char block[32];

static void *scalar(void *arg) {
  block[20] = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *vector(void *arg) {
  invisible_wait(1);
  _mm256_store_si256((__m256i *)block, _mm256_set1_epi8(2)); // RACE a
  return arg;
}

int main(void) { run2(scalar, vector); }
