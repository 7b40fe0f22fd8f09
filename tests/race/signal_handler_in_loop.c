// A signal arrives in the middle of a loop; its handler writes what another thread wrote, and in the second case leaves the loop for good.
#include "two_threads.h"
#include <setjmp.h>
#include <signal.h>

enum { N = 200 };
int handled, looped[N], left[N];
static sigjmp_buf out;

static void *other_side(void *arg) {
  handled = 1;     // RACE a
  looped[150] = 1; // RACE b
  left[40] = 1;    // RACE c
  left[60] = 1;
  invisible_signal(1);
  return arg;
}

static void on_usr1(int number) {
  handled = number; // RACE a
}

static void on_usr2(int number) {
  (void)number;
  siglongjmp(out, 1);
}

static void *loops(void *arg) {
  invisible_wait(1);
  signal(SIGUSR1, on_usr1);
  signal(SIGUSR2, on_usr2);
  for (int i = 0; i < N; i++) {
    looped[i] = i; // RACE b
    if (i == 100)
      raise(SIGUSR1);
  }
  if (!sigsetjmp(out, 1))
    for (int i = 0; i < N; i++) {
      if (i == 50)
        raise(SIGUSR2);
      left[i] = i; // RACE c
    }
  return arg;
}

int main(void) { run2(other_side, loops); }
