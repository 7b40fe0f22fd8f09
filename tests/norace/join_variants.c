// pthread_tryjoin_np(), pthread_timedjoin_np() and pthread_clockjoin_np() order like pthread_join().
// tsan: false alarm (pthread_clockjoin_np() is not intercepted)
#define _GNU_SOURCE
#include "two_threads.h"
#include <errno.h>
#include <sched.h>
#include <time.h>

int pthread_tryjoin_np(pthread_t, void **);
int pthread_timedjoin_np(pthread_t, void **, const struct timespec *);
int pthread_clockjoin_np(pthread_t, void **, clockid_t, const struct timespec *);

int data;
struct timespec later = {1L << 40, 0};

static void *body(void *arg) {
  data++;
  return arg;
}

int main(void) {
  pthread_t thread = start(body);
  while (pthread_tryjoin_np(thread, 0) == EBUSY)
    sched_yield();
  data++;
  must(pthread_timedjoin_np(start(body), 0, &later) == 0);
  data++;
  must(pthread_clockjoin_np(start(body), 0, CLOCK_MONOTONIC, &later) == 0);
  data++;
}
