// Constant memory is read by everybody and written by nobody.
#include "two_threads.h"

const char *const text = "constant";

static void *first(void *arg) {
  invisible_use(text[2]);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  invisible_use(text[2]);
  return arg;
}

int main(void) {
  run2(first, second);
}
