// volatile is for devices, not for threads: the flag races and it orders nothing, so the data races too.
// tsan: misses (the data lies in the same word as the flag, whose race was reported first)
#include "two_threads.h"

int data;
volatile int flag;

static void *producer(void *arg) {
  data = 1; // RACE a
  flag = 1; // RACE b
  invisible_signal(1);
  return arg;
}

static void *consumer(void *arg) {
  invisible_wait(1);
  if (flag) // RACE b
    invisible_use(data); // RACE a
  return arg;
}

int main(void) { run2(producer, consumer); }
