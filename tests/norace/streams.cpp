// Both threads print through std::cout and string streams: the library's own state is its own business.
#include "invisible.h"
#include <iostream>
#include <sstream>
#include <thread>

static void work(int me) {
  for (int i = 0; i < 100; i++) {
    std::ostringstream line;
    line << me << ' ' << i << ' ' << 1.5 * i << '\n';
    std::cout << line.str();
  }
}

int main() {
  std::thread first(work, 1), second(work, 2);
  first.join();
  second.join();
}
