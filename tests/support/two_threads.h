// Two threads, started one after the other and then joined: most programs of the suite need no more.
#ifndef FOOTRACE_TESTS_TWO_THREADS_H
#define FOOTRACE_TESTS_TWO_THREADS_H

#include "invisible.h"
#include <pthread.h>
#include <stdlib.h>

typedef void *thread_body(void *);

static inline pthread_t start(thread_body *body) {
  pthread_t thread;
  if (pthread_create(&thread, 0, body, 0))
    abort();
  return thread;
}

static inline void run2(thread_body *first, thread_body *second) {
  pthread_t a = start(first), b = start(second);
  pthread_join(a, 0);
  pthread_join(b, 0);
}

// A test program that cannot do its job must not pass for a quiet one.
static inline void must(int condition) {
  if (!condition)
    abort();
}

#endif
