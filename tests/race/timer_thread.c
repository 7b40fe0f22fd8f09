// timer_create() with SIGEV_THREAD: from then on the main thread may not be alone, though it created no other.
// tsan: crashes (threads that libc creates are not known to it)
#include "two_threads.h"
#include <signal.h>
#include <time.h>

int shared;

static void fired(union sigval value) {
  invisible_wait(1);
  *(int *)value.sival_ptr = 2; // RACE a
  invisible_signal(2);
}

int main(void) {
  struct sigevent event = {
      .sigev_notify = SIGEV_THREAD, .sigev_notify_function = fired, .sigev_value.sival_ptr = &shared};
  struct itimerspec soon = {{0, 0}, {0, 1000000}};
  timer_t timer;
  must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  must(timer_settime(timer, 0, &soon, 0) == 0);
  shared = 1; // RACE a
  invisible_signal(1);
  invisible_wait(2);
}
