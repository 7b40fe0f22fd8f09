// An addition that was repeated for long faults; the handler leaves it for good, and others go on with the counter.
#include "two_threads.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { ADDS = 1000, BYTES = 4096 };
static int *counter;
static sigjmp_buf out;

static void fault(int signal) {
  (void)signal;
  siglongjmp(out, 1);
}

static void *first(void *arg) {
  for (int i = 0; i < ADDS; i++)
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
  mprotect(counter, BYTES, PROT_READ);
  if (sigsetjmp(out, 1) == 0)
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
  mprotect(counter, BYTES, PROT_READ | PROT_WRITE);
  __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
  invisible_signal(1);
  invisible_wait(2);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  must(__atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST) == ADDS + 1);
  invisible_signal(2);
  return arg;
}

int main(void) {
  signal(SIGSEGV, fault);
  void *page = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(page != MAP_FAILED);
  counter = page;
  run2(first, second);
}
