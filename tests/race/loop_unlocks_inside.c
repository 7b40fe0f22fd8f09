// A loop that gives its lock back in the middle of each round: what it does before and after is not one region.
#include "two_threads.h"

enum { N = 50 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int guarded[N], after[N], before[N];

static void __attribute__((noinline)) give_way(void) {
  pthread_mutex_unlock(&mutex);
  pthread_mutex_lock(&mutex);
}

static void *first(void *arg) {
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < N; i++) {
    guarded[i]++;
    before[i] = 1; // RACE b
    give_way();
    guarded[i]++;
  }
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < N; i++)
    after[i] = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  before[N / 2] = 2;  // RACE b
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < N; i++) {
    guarded[i]++;
    after[i] = 2; // RACE a
  }
  pthread_mutex_unlock(&mutex);
  return arg;
}

int main(void) { run2(first, second); }
