// Orders threads without any detector noticing.
//
// A test of a race detector has to fix the order of two accesses, or its verdict depends on luck. Every ordinary
// means (a lock, an atomic, a pipe, joining) is synchronisation and would hide the race that the test is about.
// So the flags below are touched by inline assembly only, which no compiler instruments, and threads sleep in
// futex(2) entered by the `syscall` instruction, which no interceptor sees. The assembly clobbers memory, so the
// compiler keeps every access on the side of the call where it was written; the xchg is a full barrier, so the
// processor does too.
//
// `invisible_signal(i)` raises flag i for ever; `invisible_wait(i)` returns once it is raised. x86-64 Linux.
#ifndef FOOTRACE_TESTS_INVISIBLE_H
#define FOOTRACE_TESTS_INVISIBLE_H

#define INVISIBLE_STEPS 128
static int invisible_flags[INVISIBLE_STEPS] __attribute__((used));

static inline __attribute__((always_inline)) void invisible_futex(int *word, long operation, long value) {
  long result;
  register long no_timeout __asm__("r10") = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(202L), "D"(word), "S"(operation), "d"(value), "r"(no_timeout)
                   : "rcx", "r11", "memory");
  (void)result;
}

static inline __attribute__((always_inline)) void invisible_signal(int step) {
  int one = 1;
  __asm__ volatile("xchgl %0, (%1)" : "+r"(one) : "r"(&invisible_flags[step]) : "memory");
  invisible_futex(&invisible_flags[step], 1 /* FUTEX_WAKE */, 0x7fffffff);
}

static inline __attribute__((always_inline)) void invisible_wait(int step) {
  for (;;) {
    int raised;
    __asm__ volatile("movl (%1), %0" : "=r"(raised) : "r"(&invisible_flags[step]) : "memory");
    if (raised)
      return;
    invisible_futex(&invisible_flags[step], 0 /* FUTEX_WAIT */, 0);
  }
}

// The value counts as used, so the load that produced it stays.
static inline __attribute__((always_inline)) void invisible_use(long value) {
  __asm__ volatile("" : : "r"(value) : "memory");
}

// The compiler no longer knows where the pointer points, so it keeps every access through it.
static inline __attribute__((always_inline)) void *invisible_pointer(const void *pointer) {
  void *copy = (void *)pointer;
  __asm__ volatile("" : "+r"(copy) : : "memory");
  return copy;
}

#endif
