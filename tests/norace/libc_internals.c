// libc functions with internal state or locks, called by both threads on their own data.
#include "two_threads.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

static void *body(void *arg) {
  char text[64];
  struct tm parts;
  for (int i = 0; i < 200; i++) {
    time_t now = i * 86400L;
    localtime_r(&now, &parts);
    snprintf(text, sizeof text, "%d %s", parts.tm_mday, getenv("PATH") ? "path" : "none");
    char *copy = strdup(text);
    must(strcmp(copy, text) == 0);
    free(copy);
    fprintf(stdout, "%s\n", text);
  }
  return arg;
}

int main(void) { run2(body, body); }
