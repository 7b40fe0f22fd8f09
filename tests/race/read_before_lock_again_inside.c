// A value is read before the lock is taken and again inside: the first read races, whatever the second one is ordered with. And
// a value written under the lock is read again after it was given back.
#include "two_threads.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int early, late, sum;

static void *other_side(void *arg) {
  pthread_mutex_lock(&mutex);
  early = 1; // RACE a
  pthread_mutex_unlock(&mutex);
  invisible_signal(1);
  invisible_wait(2);
  pthread_mutex_lock(&mutex);
  late = 1; // RACE b
  pthread_mutex_unlock(&mutex);
  return arg;
}

static void *reads_twice(void *arg) {
  invisible_wait(1);
  int *e = invisible_pointer(&early), *l = invisible_pointer(&late);
  int before = *e; // RACE a
  pthread_mutex_lock(&mutex);
  sum += *e + before;
  *l = 2;
  pthread_mutex_unlock(&mutex);
  sum += *l; // RACE b
  invisible_signal(2);
  return arg;
}

int main(void) { run2(other_side, reads_twice); }
