// Calls through pointers that take a lock: what was written just before races with what the other thread read before it gave the lock
// away, and has to be checked before the call, or the lock seems to order them. The functions behind the pointers are known by their types only; neighbours of the same type do nothing.
#include "two_threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int x, y, z;

typedef int operation(void *, long);
typedef int any(void *, ...);

static int nothing(void *at, long by) { return at != 0 && by; }
static int takes(void *at, long by) { return pthread_mutex_lock(at) + (by != 0); }
static int gives(void *at, long by) { return pthread_mutex_unlock(at) + (by != 0); }
static void takes_quietly(void *at, long by, int more) { invisible_use(takes(at, by + more)); }
static int takes_any(void *at, ...) { return pthread_mutex_lock(at); }

static operation *volatile table[] = {nothing, takes, gives};
// The result does not matter to the call.
static int (*volatile quiet)(void *, long, int) = (int (*)(void *, long, int))(void *)takes_quietly;
static any *volatile variadic = takes_any;

static void *reader(void *arg) {
  invisible_use(x); // RACE a
  table[1](&lock, 0);
  table[2](&lock, 0);
  invisible_signal(1);
  invisible_wait(2);
  invisible_use(y); // RACE b
  table[1](&lock, 0);
  table[2](&lock, 0);
  invisible_signal(3);
  invisible_wait(4);
  invisible_use(z); // RACE c
  table[1](&lock, 0);
  table[2](&lock, 0);
  invisible_signal(5);
  return arg;
}

static void *writer(void *arg) {
  invisible_wait(1);
  x = 1; // RACE a
  table[1](&lock, 0);
  table[2](&lock, 0);
  invisible_signal(2);
  invisible_wait(3);
  y = 1; // RACE b
  quiet(&lock, 0, 0);
  table[2](&lock, 0);
  invisible_signal(4);
  invisible_wait(5);
  z = 1; // RACE c
  variadic(&lock, 1, 2);
  table[2](&lock, 0);
  return arg;
}

int main(void) { run2(reader, writer); }
