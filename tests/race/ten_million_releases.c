// Ten million lock releases lie between the racing accesses. Clocks that wrap, or a shadow that is thrown away when they
// would, lose the race.
// tsan: misses (after about 4.2 million releases it drops its whole shadow)
// timeout: 120
#include "two_threads.h"

int shared;
pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

static void *writer(void *arg) {
  shared = 1; // RACE a
  for (int i = 0; i < 10000000; i++) {
    pthread_mutex_lock(&own);
    pthread_mutex_unlock(&own);
  }
  invisible_signal(1);
  return arg;
}

static void *reader(void *arg) {
  invisible_wait(1);
  invisible_use(shared); // RACE a
  return arg;
}

int main(void) { run2(writer, reader); }
