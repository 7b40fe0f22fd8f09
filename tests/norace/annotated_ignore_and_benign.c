// Two races that the program's author does not want to hear of: one in an ignored region, one on bytes
// declared benign, by the names that other tools made a custom.
// record: no, what is declared benign races in the trace
// tsan: false alarm (it has other names for this)
#include "two_threads.h"

void footrace_ignore_begin(void) __attribute__((weak));
void footrace_ignore_end(void) __attribute__((weak));
void AnnotateBenignRaceSized(const char *file, int line, const volatile void *start, size_t bytes, const char *why)
    __attribute__((weak));

int ignored;
char benign[16];

static void *first(void *arg) {
  ignored = 1;
  benign[3] = 1;
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  if (footrace_ignore_begin)
    footrace_ignore_begin();
  ignored = 2;
  if (footrace_ignore_end)
    footrace_ignore_end();
  benign[3] = 2;
  return arg;
}

int main(void) {
  if (AnnotateBenignRaceSized)
    AnnotateBenignRaceSized(__FILE__, __LINE__, benign, sizeof benign, "a guess is good enough");
  run2(first, second);
}
