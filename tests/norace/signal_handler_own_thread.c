// A handler interrupts the very thread whose data it touches: one thread does not race with itself.
#include "two_threads.h"
#include <signal.h>

int counter;

static void handler(int number) {
  (void)number;
  counter++;
}

static void *body(void *arg) {
  for (int i = 0; i < 1000; i++) {
    counter++;
    raise(SIGUSR1);
  }
  return arg;
}

int main(void) {
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGUSR1, &action, 0);
  pthread_join(start(body), 0);
  must(counter == 2000);
}
