// A handler on a small stack of its own has room for the checks, too: nothing below the stack changes, the program is told of the stack it gave,
// and what one thread's handler had there is not another's.
#include "two_threads.h"
#include <signal.h>
#include <string.h>

enum { BELOW = 32768, STACK = 8192, DEPTH = 20 };
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int table[DEPTH + 1];

static __attribute__((noinline)) int deep(int n) {
  table[n]++;
  return n ? deep(n - 1) + table[n] : 0;
}

static void locked(int signal) {
  (void)signal;
  deep(DEPTH);
}

static void unlocked(int signal) {
  int local[16];
  int *shared = invisible_pointer(local);
  for (int i = 0; i < 16; i++)
    shared[i] = signal;
}

static void visit(int disable) {
  unsigned char *memory = malloc(BELOW + STACK);
  memset(memory, 0x5a, BELOW);
  stack_t mine = {.ss_sp = memory + BELOW, .ss_size = STACK}, told, none = {.ss_flags = SS_DISABLE};
  must(sigaltstack(&mine, 0) == 0);
  pthread_mutex_lock(&lock);
  raise(SIGUSR1);
  pthread_mutex_unlock(&lock);
  raise(SIGUSR2);
  for (int i = 0; i < BELOW; i++)
    must(memory[i] == 0x5a);
  must(sigaltstack(0, &told) == 0 && told.ss_sp == mine.ss_sp && told.ss_size == STACK && told.ss_flags == 0);
  if (disable) {
    must(sigaltstack(&none, &told) == 0 && told.ss_sp == mine.ss_sp);
    must(sigaltstack(0, &told) == 0 && told.ss_flags == SS_DISABLE);
    free(memory);
  }
}

static void *first(void *arg) {
  visit(1);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  visit(1);
  visit(0);
  return arg;
}

int main(void) {
  struct sigaction one = {.sa_handler = locked, .sa_flags = SA_ONSTACK};
  struct sigaction two = {.sa_handler = unlocked, .sa_flags = SA_ONSTACK};
  must(sigaction(SIGUSR1, &one, 0) == 0 && sigaction(SIGUSR2, &two, 0) == 0);
  run2(first, second);
}
