// printf() and scanf() with all kinds of arguments come out right, and touch no more than they do: the bytes beside what they read and
// write are another thread's.
// tsan: varies (it reads strings with a precision to their end in some versions)
#include "two_threads.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char halves[16] = "leftright";
struct {
  short number;
  char word[6];
  double value;
} scanned, other;

static void say(char *line, size_t room, const char *format, ...) {
  va_list list;
  va_start(list, format);
  must(vsnprintf(line, room, format, list) > 0);
  va_end(list);
}

static void *first(void *arg) {
  char line[128];
  must(snprintf(line, sizeof line, "%.4s|%5d|%-3c|%lld|%Lg|%s|%d|%g|%%|%.2f|%zu|%x", halves, 42, 'c', 1LL << 40, 1.5L, "in memory",
                -7, 0.25, 2.0, sizeof line, 255u) > 0);
  must(!strcmp(line, "left|   42|c  |1099511627776|1.5|in memory|-7|0.25|%|2.00|128|ff"));
  say(line, sizeof line, "%s %g %g %g %g %g %g %g %g %g %s", "nine", 1., 2., 3., 4., 5., 6., 7., 8., 9., "doubles");
  must(!strcmp(line, "nine 1 2 3 4 5 6 7 8 9 doubles"));
  int length;
  must(sscanf("12 abc 2.5 rest", "%hd %3s%n %lf", &scanned.number, scanned.word, &length, &scanned.value) == 3);
  must(scanned.number == 12 && scanned.value == 2.5 && !strcmp(scanned.word, "abc") && length == 6);
  must(sscanf("x", "%hd %s", &other.number, other.word) == 0);
  return arg;
}

static void *second(void *arg) {
  halves[4] = 'R';
  scanned.word[4] = 'z';
  scanned.word[5] = 'z';
  other.number = 1;
  other.word[0] = 'w';
  return arg;
}

int main(void) {
  run2(first, second);
}
