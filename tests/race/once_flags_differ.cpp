// Two once_flags for one resource: the initialiser runs twice.
#include "invisible.h"
#include <mutex>
#include <thread>

std::once_flag left, right;
int shared;

static void initialise() {
  shared++; // RACE a
}

int main() {
  std::thread first([] {
    std::call_once(left, initialise);
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    std::call_once(right, initialise);
  });
  first.join();
  second.join();
}
