// timer_create() with SIGEV_THREAD: libc runs the function on a thread that nobody in the program created.
// tsan: crashes (threads that libc creates are not known to it)
#include "two_threads.h"
#include <semaphore.h>
#include <signal.h>
#include <time.h>

int data;
sem_t done;

static void fired(union sigval value) {
  *(int *)value.sival_ptr = 2;
  sem_post(&done);
}

int main(void) {
  sem_init(&done, 0, 0);
  struct sigevent event = {
      .sigev_notify = SIGEV_THREAD, .sigev_notify_function = fired, .sigev_value.sival_ptr = &data};
  struct itimerspec soon = {{0, 0}, {0, 1000000}};
  timer_t timer;
  must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  must(timer_settime(timer, 0, &soon, 0) == 0);
  sem_wait(&done);
  data = 3;
}
