// IDEA, the International Data Encryption Algorithm (Lai and Massey): SIZE bytes are encrypted and decrypted, each thread
// works on its own range of 8-byte blocks. Default 6,000,000 bytes; large: 20,000,000 (three arrays, 60 MB).
// Seeded race: the ranges overlap by one block. ThreadSanitizer misses it from about 100,000 bytes on: the first write is too
// long ago for its history.
#include "bench.h"

enum { KEYS = 52 };
static uint16_t encrypt_keys[KEYS], decrypt_keys[KEYS];
static unsigned char *plain, *secret, *again;

// Multiplication modulo 65537, where 0 stands for 65536.
static uint16_t multiply(uint32_t a, uint32_t b) {
  if (a == 0)
    return (uint16_t)(1 - b);
  if (b == 0)
    return (uint16_t)(1 - a);
  uint32_t product = a * b, low = product & 0xffff, high = product >> 16;
  return (uint16_t)(low - high + (low < high));
}

static uint16_t inverse(uint16_t x) {
  // x^(65537-2): the group has 65536 elements.
  uint16_t result = 1, power = x;
  for (int bits = 65535; bits; bits >>= 1, power = multiply(power, power))
    if (bits & 1)
      result = multiply(result, power);
  return result;
}

static void make_keys(void) {
  uint16_t user[8];
  uint64_t seed = 136506717;
  for (int i = 0; i < 8; i++)
    user[i] = (uint16_t)bench_random(&seed);
  memcpy(encrypt_keys, user, sizeof user);
  // Each group of eight is the previous one rotated left by 25 bits.
  for (int i = 8; i < KEYS; i++) {
    int group = i / 8 * 8, at = i % 8;
    encrypt_keys[i] = (uint16_t)(encrypt_keys[group - 8 + (at + 1) % 8] << 9 | encrypt_keys[group - 8 + (at + 2) % 8] >> 7);
  }
  for (int round = 0; round <= 8; round++) {
    const uint16_t *from = encrypt_keys + (8 - round) * 6;
    uint16_t *to = decrypt_keys + round * 6;
    int outer = round == 0 || round == 8;
    to[0] = inverse(from[0]);
    to[1] = (uint16_t)-from[outer ? 1 : 2];
    to[2] = (uint16_t)-from[outer ? 2 : 1];
    to[3] = inverse(from[3]);
    if (round < 8) {
      to[4] = from[-2];
      to[5] = from[-1];
    }
  }
}

static void code(const unsigned char *in, unsigned char *out, const uint16_t *key, long from, long to) {
  for (long i = from; i < to; i += 8) {
    uint16_t x[4];
    for (int w = 0; w < 4; w++)
      x[w] = (uint16_t)(in[i + 2 * w] | in[i + 2 * w + 1] << 8);
    const uint16_t *k = key;
    for (int round = 0; round < 8; round++, k += 6) {
      x[0] = multiply(x[0], k[0]);
      x[1] = (uint16_t)(x[1] + k[1]);
      x[2] = (uint16_t)(x[2] + k[2]);
      x[3] = multiply(x[3], k[3]);
      uint16_t t0 = multiply(k[4], x[0] ^ x[2]);
      uint16_t t1 = multiply(k[5], (uint16_t)(t0 + (x[1] ^ x[3])));
      t0 = (uint16_t)(t0 + t1);
      x[0] ^= t1;
      x[3] ^= t0;
      uint16_t middle = x[1] ^ t0;
      x[1] = x[2] ^ t1;
      x[2] = middle;
    }
    uint16_t last[4] = {multiply(x[0], k[0]), (uint16_t)(x[2] + k[1]), (uint16_t)(x[1] + k[2]), multiply(x[3], k[3])};
    for (int w = 0; w < 4; w++) {
      out[i + 2 * w] = (unsigned char)last[w]; // RACE
      out[i + 2 * w + 1] = (unsigned char)(last[w] >> 8);
    }
  }
}

static void range(int thread, long *from, long *to) {
  bench_slice(thread, bench_size / 8, from, to);
  if (seeded_race && *from > 0)
    *from -= 1;
  *from *= 8;
  *to *= 8;
}

static void encrypt(int thread) {
  long from, to;
  range(thread, &from, &to);
  code(plain, secret, encrypt_keys, from, to);
}

static void decrypt(int thread) {
  long from, to;
  range(thread, &from, &to);
  code(secret, again, decrypt_keys, from, to);
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 6000000);
  bench_size = bench_size / 8 * 8;
  plain = bench_alloc(bench_size);
  secret = bench_alloc(bench_size);
  again = bench_alloc(bench_size);
  uint64_t seed = 1;
  for (long i = 0; i < bench_size; i++)
    plain[i] = (unsigned char)bench_random(&seed);
  make_keys();
  bench_parallel(encrypt);
  bench_parallel(decrypt);
  uint64_t sum = 0;
  for (long i = 0; i < bench_size; i++)
    sum = sum * 31 + secret[i];
  int right = memcmp(plain, again, bench_size) == 0 && memcmp(plain, secret, bench_size) != 0;
  return bench_end("crypt", (double)(sum % 1000000007), right);
}
