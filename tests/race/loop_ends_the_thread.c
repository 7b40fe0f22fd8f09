// A loop ends by the end of its thread: pthread_exit in it, in a function that it calls, or by cancellation.
#include "two_threads.h"

enum { N = 200 };
int direct[N], called[N], cancelled[N], beyond[N];

static void *other_side(void *arg) {
  direct[99] = 1;    // RACE a
  called[100] = 1;   // RACE b
  cancelled[5] = 1;  // RACE c
  beyond[101] = 1;
  invisible_signal(1);
  return arg;
}

static void *direct_exit(void *arg) {
  invisible_wait(1);
  for (int i = 0; i < N; i++) {
    if (i == 100)
      pthread_exit(arg);
    direct[i] = i; // RACE a
  }
  return arg;
}

static void __attribute__((noinline)) leave_at(int i, int limit) {
  if (i == limit)
    pthread_exit(0);
}

static void *called_exit(void *arg) {
  invisible_wait(1);
  for (int i = 0; i < N; i++) {
    called[i] = i; // RACE b
    leave_at(i, 100);
  }
  return arg;
}

static void *exit_beyond(void *arg) {
  invisible_wait(1);
  for (int i = 0; i < N; i++) {
    leave_at(i, 101);
    beyond[i] = i;
  }
  return arg;
}

static void *is_cancelled(void *arg) {
  invisible_wait(1);
  pthread_cancel(pthread_self());
  for (int i = 0; i < N; i++) {
    cancelled[i] = i; // RACE c
    if (i == 100)
      pthread_testcancel();
  }
  return arg;
}

// One after the other, so that the order of the reports is known; nobody waits for `other` before the end.
int main(void) {
  thread_body *bodies[] = {direct_exit, called_exit, exit_beyond, is_cancelled};
  pthread_t other = start(other_side);
  for (int i = 0; i < 4; i++)
    pthread_join(start(bodies[i]), 0);
  pthread_join(other, 0);
}
