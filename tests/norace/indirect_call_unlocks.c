// Calls through pointers that give a lock away: what was written before has to be checked before the call, or it seems to come
// after what the next owner of the lock does. The functions behind the pointers are known by their types only.
#include "two_threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int x, y;

typedef int operation(void *, long);
typedef int any(void *, ...);

static int nothing(void *at, long by) { return at != 0 && by; }
static int takes(void *at, long by) { return pthread_mutex_lock(at) + (by != 0); }
static int gives(void *at, long by) { return pthread_mutex_unlock(at) + (by != 0); }
static int gives_any(void *at, ...) { return pthread_mutex_unlock(at); }

static operation *volatile table[] = {nothing, takes, gives};
static any *volatile variadic = gives_any;

static void *first(void *arg) {
  table[1](&lock, 0);
  x = 1;
  table[2](&lock, 0);
  table[1](&lock, 0);
  y = 1;
  variadic(&lock, 1);
  invisible_signal(1);
  invisible_wait(2);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  table[1](&lock, 0);
  invisible_use(x);
  x = 2;
  invisible_use(y);
  y = 2;
  table[0](&x, 1);
  x = 3;
  table[2](&lock, 0);
  invisible_signal(2);
  return arg;
}

int main(void) { run2(first, second); }
