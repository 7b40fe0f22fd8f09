// strcpy() writes its target including the final zero, a byte that the other thread has read.
#include "two_threads.h"
#include <string.h>

char text[32];
char source[8] = "abc";

static void *reader(void *arg) {
  invisible_use(text[3]); // RACE a
  invisible_signal(1);
  return arg;
}

static void *writer(void *arg) {
  invisible_wait(1);
  strcpy(invisible_pointer(text), invisible_pointer(source)); // RACE a
  return arg;
}

int main(void) { run2(reader, writer); }
