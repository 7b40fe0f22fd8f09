// Each round of a loop takes a lock of its own, or the same one again: what is under it stays there.
#include "two_threads.h"
#include <stdatomic.h>

enum { N = 64, ROUNDS = 40 };
static pthread_mutex_t locks[N], one = PTHREAD_MUTEX_INITIALIZER;
int striped[N], shared[N], handed[N];
static atomic_int turn;

static void __attribute__((noinline)) with_lock(int i) {
  pthread_mutex_lock(&locks[i]);
  striped[i]++;
}

static void __attribute__((noinline)) without_lock(int i) {
  striped[i]++;
  pthread_mutex_unlock(&locks[i]);
}

static void *works(void *arg) {
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < N; i++) {
      with_lock(i);
      without_lock(i);
    }
    pthread_mutex_lock(&one);
    for (int i = 0; i < N; i++) {
      shared[i]++;
      if (i % 16 == 5) {
        pthread_mutex_unlock(&one);
        pthread_mutex_lock(&one);
      }
    }
    pthread_mutex_unlock(&one);
  }
  return arg;
}

static void *even(void *arg) {
  for (int i = 0; i < N; i++) {
    while (atomic_load_explicit(&turn, memory_order_acquire) % 2)
      ;
    handed[i]++;
    atomic_fetch_add_explicit(&turn, 1, memory_order_release);
  }
  return works(arg);
}

static void *odd(void *arg) {
  for (int i = 0; i < N; i++) {
    while (atomic_load_explicit(&turn, memory_order_acquire) % 2 == 0)
      ;
    handed[i]++;
    atomic_fetch_add_explicit(&turn, 1, memory_order_release);
  }
  return works(arg);
}

int main(void) {
  for (int i = 0; i < N; i++)
    pthread_mutex_init(&locks[i], 0);
  run2(even, odd);
}
