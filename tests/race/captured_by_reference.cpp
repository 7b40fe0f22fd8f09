// A lambda captures a local variable by reference, and its creator goes on using it.
#include "invisible.h"
#include <thread>

int main() {
  int local = 0;
  std::thread other([&local] {
    local = 1; // RACE a
    invisible_signal(1);
  });
  invisible_wait(1);
  invisible_use(local); // RACE a
  other.join();
}
