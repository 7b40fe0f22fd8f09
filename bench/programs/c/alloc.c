// Allocation: each thread builds and frees binary trees and passes every eighth one to its neighbour through a locked slot,
// so that blocks are freed by other threads than made them. SIZE trees of 63 nodes.
// Default 60,000; large: 1,000,000.
// Seeded race: freed nodes are counted in a shared counter without a lock.
#include "bench.h"

enum { DEPTH = 6 };
struct tree {
  struct tree *left, *right;
  long value;
};
static struct slot {
  pthread_mutex_t mutex;
  struct tree *tree;
} slots[256];
static pthread_mutex_t count_mutex = PTHREAD_MUTEX_INITIALIZER;
static long freed;

static struct tree *build(int depth, long value) {
  if (depth == 0)
    return 0;
  struct tree *tree = malloc(sizeof *tree);
  if (!tree)
    exit(2);
  tree->value = value;
  tree->left = build(depth - 1, 2 * value);
  tree->right = build(depth - 1, 2 * value + 1);
  return tree;
}

static long destroy(struct tree *tree) {
  if (!tree)
    return 0;
  long count = 1 + destroy(tree->left) + destroy(tree->right);
  free(tree);
  return count;
}

static void work(int thread) {
  long from, to, own = 0;
  bench_slice(thread, bench_size, &from, &to);
  struct slot *mine = &slots[thread], *theirs = &slots[(thread + 1) % bench_threads];
  for (long i = from; i < to; i++) {
    struct tree *tree = build(DEPTH, i);
    if (i % 8 == 0) {
      pthread_mutex_lock(&theirs->mutex);
      struct tree *old = theirs->tree;
      theirs->tree = tree;
      pthread_mutex_unlock(&theirs->mutex);
      tree = old;
    }
    own += destroy(tree);
    if (i % 8 == 4) {
      pthread_mutex_lock(&mine->mutex);
      tree = mine->tree;
      mine->tree = 0;
      pthread_mutex_unlock(&mine->mutex);
      own += destroy(tree);
    }
  }
  if (!seeded_race)
    pthread_mutex_lock(&count_mutex);
  freed += own; // RACE
  if (!seeded_race)
    pthread_mutex_unlock(&count_mutex);
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 60000);
  for (int i = 0; i < bench_threads; i++)
    pthread_mutex_init(&slots[i].mutex, 0);
  bench_parallel(work);
  for (int i = 0; i < bench_threads; i++)
    freed += destroy(slots[i].tree);
  return bench_end("alloc", (double)freed, freed == bench_size * ((1 << DEPTH) - 1));
}
