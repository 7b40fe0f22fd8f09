// Breadth-first search of a random graph with SIZE nodes and 8 edges a node, level by level: threads claim nodes by
// compare-exchange and meet at a barrier. Nodes are objects that point to each other.
// Default 60,000; large: 2,000,000 (160 MB).
// Seeded race: nodes are claimed by a plain test and store.
#include "bench.h"
#include <stdatomic.h>

enum { DEGREE = 8 };
struct node {
  atomic_int level;
  int plain_level;
  struct node *edges[DEGREE];
};
static struct node **nodes, **current, **next;
static long current_count;
static atomic_long next_count;

static int claim(struct node *node, int level) {
  if (seeded_race) {
    if (node->plain_level >= 0) // RACE
      return 0;
    node->plain_level = level; // RACE
    return 1;
  }
  int unseen = -1;
  return atomic_load_explicit(&node->level, memory_order_relaxed) < 0 &&
         atomic_compare_exchange_strong_explicit(&node->level, &unseen, level, memory_order_relaxed, memory_order_relaxed);
}

static void work(int thread) {
  for (int level = 1;; level++) {
    long from, to;
    bench_slice(thread, current_count, &from, &to);
    for (long i = from; i < to; i++)
      for (int e = 0; e < DEGREE; e++) {
        struct node *node = current[i]->edges[e];
        if (claim(node, level)) {
          long at = atomic_fetch_add_explicit(&next_count, 1, memory_order_relaxed);
          // Two threads may claim one node in the seeded variant: there is room for that.
          if (at < 2 * bench_size)
            next[at] = node;
        }
      }
    bench_wait();
    if (thread == 0) {
      struct node **swap = current;
      current = next;
      next = swap;
      current_count = next_count;
      next_count = 0;
    }
    bench_wait();
    if (current_count == 0)
      return;
  }
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 60000);
  nodes = bench_alloc(bench_size * sizeof *nodes);
  current = bench_alloc(2 * bench_size * sizeof *current);
  next = bench_alloc(2 * bench_size * sizeof *next);
  for (long i = 0; i < bench_size; i++) {
    nodes[i] = bench_alloc(sizeof **nodes);
    nodes[i]->level = nodes[i]->plain_level = -1;
  }
  uint64_t seed = 5;
  for (long i = 0; i < bench_size; i++)
    for (int e = 0; e < DEGREE; e++)
      // A ring, so that all can be reached, and random edges.
      nodes[i]->edges[e] = nodes[e == 0 ? (i + 1) % bench_size : (long)(bench_random(&seed) % (uint64_t)bench_size)];
  nodes[0]->level = nodes[0]->plain_level = 0;
  current[0] = nodes[0];
  current_count = 1;
  bench_barrier_init();
  bench_parallel(work);
  long sum = 0;
  int right = 1;
  for (long i = 0; i < bench_size; i++) {
    int level = seeded_race ? nodes[i]->plain_level : nodes[i]->level;
    sum += level;
    right &= level >= 0;
    // An edge leads at most one level down.
    for (int e = 0; e < DEGREE; e++)
      right &= (seeded_race ? nodes[i]->edges[e]->plain_level : nodes[i]->edges[e]->level) <= level + 1;
  }
  return bench_end("graph", (double)sum, right);
}
