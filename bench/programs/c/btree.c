// A B-tree of order 16 under a reader-writer lock: every thread inserts its share of SIZE keys and looks up three for each.
// Default 70,000; large: 2,000,000.
// Seeded race: look-ups go without the lock.
#include "bench.h"

enum { MOST = 15 };
struct node {
  int count, leaf;
  uint64_t keys[MOST];
  struct node *children[MOST + 1];
};
static struct node *root;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long hits[256];

static struct node *fresh(int leaf) {
  struct node *node = bench_alloc(sizeof *node);
  node->leaf = leaf;
  return node;
}

// Splits the full child at `at`; the middle key goes up.
static void split(struct node *parent, int at) {
  struct node *left = parent->children[at], *right = fresh(left->leaf);
  int middle = MOST / 2;
  right->count = MOST - middle - 1;
  for (int i = 0; i < right->count; i++)
    right->keys[i] = left->keys[middle + 1 + i];
  if (!left->leaf)
    for (int i = 0; i <= right->count; i++)
      right->children[i] = left->children[middle + 1 + i];
  left->count = middle;
  for (int i = parent->count; i > at; i--) {
    parent->keys[i] = parent->keys[i - 1];
    parent->children[i + 1] = parent->children[i];
  }
  parent->keys[at] = left->keys[middle];
  parent->children[at + 1] = right;
  parent->count++;
}

static int insert(uint64_t key) {
  if (root->count == MOST) {
    struct node *above = fresh(0);
    above->children[0] = root;
    split(above, 0);
    root = above;
  }
  struct node *node = root;
  for (;;) {
    int at = 0;
    while (at < node->count && node->keys[at] < key)
      at++;
    if (at < node->count && node->keys[at] == key)
      return 0;
    if (node->leaf) {
      for (int i = node->count; i > at; i--)
        node->keys[i] = node->keys[i - 1];
      node->keys[at] = key;
      node->count++; // RACE
      return 1;
    }
    if (node->children[at]->count == MOST) {
      split(node, at);
      if (node->keys[at] == key)
        return 0;
      at += node->keys[at] < key;
    }
    node = node->children[at];
  }
}

static int contains(uint64_t key) {
  struct node *node = root;
  while (node) {
    int at = 0, count = node->count; // RACE
    while (at < count && node->keys[at] < key)
      at++;
    if (at < count && node->keys[at] == key)
      return 1;
    node = node->leaf ? 0 : node->children[at];
  }
  return 0;
}

static void work(int thread) {
  uint64_t seed = 7;
  long found = 0;
  for (long i = 0; i < bench_size; i++) {
    uint64_t key = bench_random(&seed) >> 16;
    if (i % bench_threads != thread)
      continue;
    pthread_rwlock_wrlock(&lock);
    insert(key);
    pthread_rwlock_unlock(&lock);
    for (int k = 0; k < 3; k++) {
      if (!seeded_race)
        pthread_rwlock_rdlock(&lock);
      found += contains(k == 0 ? key : key + k);
      if (!seeded_race)
        pthread_rwlock_unlock(&lock);
    }
  }
  hits[thread] = found;
}

static long count(struct node *node, uint64_t *last, int *sorted) {
  long total = 0;
  for (int i = 0; i <= node->count; i++) {
    if (!node->leaf)
      total += count(node->children[i], last, sorted);
    if (i < node->count) {
      *sorted &= node->keys[i] >= *last;
      *last = node->keys[i];
      total++;
    }
  }
  return total;
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 70000);
  root = fresh(1);
  bench_parallel(work);
  uint64_t last = 0;
  int sorted = 1;
  long total = count(root, &last, &sorted), found = 0;
  for (int i = 0; i < bench_threads; i++)
    found += hits[i];
  // 48-bit keys collide now and then.
  return bench_end("btree", (double)total, sorted && total <= bench_size && total > bench_size * 0.999 && found >= bench_size);
}
