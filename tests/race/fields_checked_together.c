// Fields that are always used together, checked together: the one that races is named among them, neighbours do not race.
#include "two_threads.h"

struct node {
  long key, value;
  struct node *next;
  int size, spare;
};
struct node *shared, *apart;

static void *other_side(void *arg) {
  shared->value = 1; // RACE a
  shared->spare = 1;
  apart->spare = 1;
  invisible_signal(1);
  return arg;
}

static void *whole(void *arg) {
  invisible_wait(1);
  struct node *n = shared, *m = apart;
  n->key = 1;
  n->value = 2; // RACE a
  n->next = m;
  n->size = 3;
  m->key = n->key;
  m->value = n->value;
  m->size = n->size;
  return arg;
}

int main(void) {
  shared = calloc(1, sizeof *shared);
  apart = calloc(1, sizeof *apart);
  run2(other_side, whole);
  free(shared);
  free(apart);
}
