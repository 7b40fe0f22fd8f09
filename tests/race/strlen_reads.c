// strlen() lives in libc, which is not instrumented, but it reads the program's memory up to and with the zero.
#include "two_threads.h"
#include <string.h>

char text[32] = "racing";

static void *writer(void *arg) {
  text[6] = 0; // RACE a
  invisible_signal(1);
  return arg;
}

static void *reader(void *arg) {
  invisible_wait(1);
  invisible_use(strlen(invisible_pointer(text))); // RACE a
  return arg;
}

int main(void) { run2(writer, reader); }
