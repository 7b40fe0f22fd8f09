// Assigning a structure reads and writes all of its fields.
#include "two_threads.h"

struct wide {
  long a[20];
} source, target;

static void *writer(void *arg) {
  source.a[19] = 1; // RACE a
  invisible_signal(1);
  return arg;
}

static void *copier(void *arg) {
  invisible_wait(1);
  target = source; // RACE a
  return arg;
}

int main(void) {
  run2(writer, copier);
  invisible_use(target.a[3]);
}
