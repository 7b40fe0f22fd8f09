// The C++ library is part of the program, not a shared library: the race in a string's buffer is found all the same.
// libs: -static-libstdc++ -static-libgcc
#include "two_threads.h"
#include <memory>
#include <string>

std::string text(100, 'a');

static void *first(void *arg) {
  text[50] = 'b'; // RACE a
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  std::string copy = text; // RACE a
  must(copy.size() == 100);
  return arg;
}

int main() {
  run2(first, second);
}
