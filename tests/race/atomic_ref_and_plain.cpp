// One thread goes through std::atomic_ref, the other one straight to the object.
#include "invisible.h"
#include <atomic>
#include <thread>

int shared;

int main() {
  std::thread first([] {
    std::atomic_ref<int>(shared).fetch_add(1); // RACE a
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    shared = 2; // RACE a
  });
  first.join();
  second.join();
}
