// Each thread holds a mutex, but not the same one.
#include "two_threads.h"

int shared;
pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *arg) {
  pthread_mutex_lock(&left);
  shared = 1; // RACE a
  pthread_mutex_unlock(&left);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  pthread_mutex_lock(&right);
  shared = 2; // RACE a
  pthread_mutex_unlock(&right);
  return arg;
}

int main(void) { run2(first, second); }
