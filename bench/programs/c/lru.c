// A cache of least recently used entries in eight shards, each a hash table and a doubly linked list under a mutex. SIZE
// look-ups with a skewed choice of keys.
// Default 700,000; large: 10,000,000.
// Seeded race: hits are counted after the unlock.
#include "bench.h"

enum { SHARDS = 8, CAPACITY = 512, BUCKETS = 1024 };
struct entry {
  uint64_t key, value;
  struct entry *newer, *older, *chain;
};
static struct shard {
  pthread_mutex_t mutex;
  struct entry *newest, *oldest, *buckets[BUCKETS];
  int used;
  long hits, misses;
} shards[SHARDS];

static void detach(struct shard *shard, struct entry *entry) {
  *(entry->newer ? &entry->newer->older : &shard->newest) = entry->older;
  *(entry->older ? &entry->older->newer : &shard->oldest) = entry->newer;
}

static void attach(struct shard *shard, struct entry *entry) {
  entry->newer = 0;
  entry->older = shard->newest;
  *(entry->older ? &entry->older->newer : &shard->oldest) = entry;
  shard->newest = entry;
}

static uint64_t look_up(uint64_t key) {
  struct shard *shard = &shards[key % SHARDS];
  pthread_mutex_lock(&shard->mutex);
  struct entry **bucket = &shard->buckets[key / SHARDS % BUCKETS], *entry = *bucket;
  while (entry && entry->key != key)
    entry = entry->chain;
  int hit = entry != 0;
  if (hit) {
    detach(shard, entry);
  } else {
    if (shard->used == CAPACITY) {
      struct entry *victim = shard->oldest, **link = &shard->buckets[victim->key / SHARDS % BUCKETS];
      detach(shard, victim);
      while (*link != victim)
        link = &(*link)->chain;
      *link = victim->chain;
      free(victim);
    } else {
      shard->used++;
    }
    entry = malloc(sizeof *entry);
    if (!entry)
      exit(2);
    entry->key = key;
    entry->value = key * key;
    entry->chain = *bucket;
    *bucket = entry;
  }
  attach(shard, entry);
  uint64_t value = entry->value;
  shard->misses += !hit;
  if (seeded_race)
    pthread_mutex_unlock(&shard->mutex);
  shard->hits += hit; // RACE
  if (!seeded_race)
    pthread_mutex_unlock(&shard->mutex);
  return value;
}

static long wrong[256];

static void work(int thread) {
  uint64_t seed = thread + 100;
  long from, to, bad = 0;
  bench_slice(thread, bench_size, &from, &to);
  for (long i = from; i < to; i++) {
    double u = bench_uniform(&seed);
    uint64_t key = (uint64_t)(u * u * u * 20000);
    bad += look_up(key) != key * key;
  }
  wrong[thread] = bad;
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 700000);
  for (int i = 0; i < SHARDS; i++)
    pthread_mutex_init(&shards[i].mutex, 0);
  bench_parallel(work);
  long counted = 0, bad = 0;
  for (int i = 0; i < bench_threads; i++)
    bad += wrong[i];
  for (int i = 0; i < SHARDS; i++) {
    long length = 0;
    for (struct entry *entry = shards[i].newest; entry; entry = entry->older)
      length++;
    bad += length != shards[i].used;
    counted += shards[i].hits + shards[i].misses;
  }
  return bench_end("lru", (double)counted, counted == bench_size && bad == 0);
}
