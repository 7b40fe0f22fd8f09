// Sixty-four threads read; sixty-three of them are joined before the write. The one that is not, races.
// tsan: misses (the read that matters is evicted from the four shadow cells)
#include "two_threads.h"

int shared;
pthread_t threads[64];

static void *reader(void *arg) {
  invisible_use(shared); // RACE a
  invisible_signal((int)(long)arg);
  return 0;
}

int main(void) {
  for (long i = 0; i < 64; i++) {
    must(pthread_create(&threads[i], 0, reader, (void *)i) == 0);
    invisible_wait((int)i);
  }
  for (int i = 0; i < 64; i++)
    if (i != 31)
      pthread_join(threads[i], 0);
  shared = 1; // RACE a
  pthread_join(threads[31], 0);
}
