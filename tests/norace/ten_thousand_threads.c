// Ten thousand threads, created and joined one by one, all writing one variable.
// timeout: 120
#include "two_threads.h"

int data;

static void *body(void *arg) {
  data++;
  return arg;
}

int main(void) {
  for (int i = 0; i < 10000; i++)
    pthread_join(start(body), 0);
  must(data == 10000);
}
