// Lock ping-pong: all threads take turns under one mutex and one condition, SIZE turns in all, and half as many uncontended
// locks of their own in between.
// Default 8,000; large: 1,000,000.
// Seeded race: the counter of turns is incremented after the unlock.
#include "bench.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t own[256];
static long turn, turns;

static void work(int thread) {
  for (;;) {
    pthread_mutex_lock(&mutex);
    while (turn < bench_size && turn % bench_threads != thread)
      pthread_cond_wait(&changed, &mutex);
    if (turn >= bench_size) {
      pthread_mutex_unlock(&mutex);
      return;
    }
    if (!seeded_race)
      turns++;
    turn++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    if (seeded_race)
      turns++; // RACE
    for (int i = 0; i < 20; i++) {
      pthread_mutex_lock(&own[thread]);
      pthread_mutex_unlock(&own[thread]);
    }
  }
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 8000);
  for (int i = 0; i < bench_threads; i++)
    pthread_mutex_init(&own[i], 0);
  bench_parallel(work);
  return bench_end("pingpong", (double)turns, turns == bench_size);
}
