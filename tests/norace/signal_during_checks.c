// A timer signal fires thousands of times into a thread that makes accesses all the time; the handler makes some too, on
// atomics and on its own buffer.
#include "two_threads.h"
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>

atomic_int ticks;
char handler_buffer[64];
long work[512];

static void handler(int number) {
  (void)number;
  atomic_fetch_add(&ticks, 1);
  memset(invisible_pointer(handler_buffer), ticks, sizeof handler_buffer);
}

int main(void) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, 0);
  struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, 0);
  long *w = invisible_pointer(work);
  while (atomic_load(&ticks) < 200)
    for (int i = 0; i < 512; i++)
      w[i] += i;
  setitimer(ITIMER_REAL, &never, 0);
}
