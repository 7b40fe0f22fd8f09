// A block with an atomic counter is handed on, freed by the other thread and allocated again: what it was is forgotten, and what it is now
// may be written plainly, made atomic in another size, and written plainly once more.
#include "two_threads.h"
#include <sched.h>

enum { ROUNDS = 10 };
static long *handed;
static int turn;

static void hand_on(int to) { __atomic_store_n(&turn, to, __ATOMIC_RELEASE); }

static void await(int my) {
  while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != my)
    sched_yield();
}

static void *maker(void *arg) {
  for (int i = 0; i < ROUNDS; i++) {
    await(0);
    handed = malloc(2 * sizeof *handed);
    must(handed != 0);
    handed[0] = handed[1] = 0;
    __atomic_fetch_add(&handed[0], 1, __ATOMIC_RELAXED);
    __atomic_store_n((char *)&handed[1], 1, __ATOMIC_RELEASE);
    hand_on(1);
  }
  return arg;
}

static void *taker(void *arg) {
  for (int i = 0; i < ROUNDS; i++) {
    await(1);
    __atomic_fetch_add((int *)&handed[0], 1, __ATOMIC_RELAXED);
    must(handed[0] == 2);
    free(handed);
    long *own = malloc(2 * sizeof *own);
    must(own != 0);
    own[0] = own[1] = i;
    invisible_use(own[0]);
    free(own);
    hand_on(0);
  }
  return arg;
}

int main(void) { run2(maker, taker); }
