// A hash map with chained nodes and 64 striped locks: SIZE operations in all, a mixture of insert, look up and remove.
// Default 900,000; large: 20,000,000.
// Seeded race: look-ups go without the stripe's lock.
#include "bench.h"

enum { BUCKETS = 1 << 14, STRIPES = 64, KEYS = 1 << 16 };
struct node {
  uint64_t key, value;
  struct node *next;
};
static struct node *buckets[BUCKETS];
static struct {
  pthread_mutex_t mutex;
  char padding[64 - sizeof(pthread_mutex_t) % 64];
} stripes[STRIPES];
static long balance[256], wrong[256];

static uint64_t hash(uint64_t key) { return key * 0x9e3779b97f4a7c15u >> 32; }

static void work(int thread) {
  uint64_t seed = thread + 1;
  long from, to, added = 0, bad = 0;
  bench_slice(thread, bench_size, &from, &to);
  for (long i = from; i < to; i++) {
    uint64_t dice = bench_random(&seed), key = dice % KEYS, at = hash(key) % BUCKETS;
    int action = (int)(dice >> 32) % 10;
    pthread_mutex_t *mutex = &stripes[at % STRIPES].mutex;
    if (action >= 4) {
      if (!seeded_race)
        pthread_mutex_lock(mutex);
      struct node *node = buckets[at]; // RACE
      while (node && node->key != key)
        node = node->next;
      bad += node && node->value != key * 3;
      if (!seeded_race)
        pthread_mutex_unlock(mutex);
      continue;
    }
    pthread_mutex_lock(mutex);
    struct node **link = &buckets[at];
    while (*link && (*link)->key != key)
      link = &(*link)->next;
    if (action < 2 && !*link) {
      struct node *fresh = malloc(sizeof *fresh);
      if (!fresh)
        exit(2);
      *fresh = (struct node){key, key * 3, buckets[at]};
      buckets[at] = fresh; // RACE
      added++;
    } else if (action >= 2 && *link) {
      struct node *old = *link;
      *link = old->next;
      // Without its lock a reader may still be there: the seeded variant leaks.
      if (!seeded_race)
        free(old);
      added--;
    }
    pthread_mutex_unlock(mutex);
  }
  balance[thread] = added;
  wrong[thread] = bad;
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 900000);
  for (int i = 0; i < STRIPES; i++)
    pthread_mutex_init(&stripes[i].mutex, 0);
  bench_parallel(work);
  long expected = 0, found = 0, bad = 0;
  for (int i = 0; i < bench_threads; i++) {
    expected += balance[i];
    bad += wrong[i];
  }
  for (int i = 0; i < BUCKETS; i++)
    for (struct node *node = buckets[i]; node; node = node->next)
      found++;
  return bench_end("hashmap", (double)found, found == expected && bad == 0);
}
