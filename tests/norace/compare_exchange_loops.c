// Compare-exchange loops of every width count what they should, and a lock made of one orders.
#include "two_threads.h"
#include <stdatomic.h>

enum { N = 20000 };
static _Atomic(unsigned char) byte;
static _Atomic(unsigned short) half;
static atomic_uint word;
static atomic_long wide;
static _Atomic(void *) owner;
static long counted;

static void *count(void *arg) {
  for (int i = 0; i < N; i++) {
    unsigned char b = byte;
    while (!atomic_compare_exchange_weak(&byte, &b, b + 1))
      ;
    unsigned short h = half;
    while (!atomic_compare_exchange_strong(&half, &h, h + 1))
      ;
    unsigned w = word;
    while (!atomic_compare_exchange_weak_explicit(&word, &w, w + 1, memory_order_acq_rel, memory_order_relaxed))
      ;
    long l = wide;
    while (!atomic_compare_exchange_strong_explicit(&wide, &l, l - 1, memory_order_release, memory_order_acquire))
      ;
    void *nobody = 0;
    while (!atomic_compare_exchange_strong(&owner, &nobody, &counted))
      nobody = 0;
    counted++;
    atomic_store(&owner, 0);
  }
  return arg;
}

int main(void) {
  run2(count, count);
  must(byte == (unsigned char)(2 * N) && half == (unsigned short)(2 * N));
  must(word == 2 * N && wide == -2 * N && counted == 2 * N);
}
