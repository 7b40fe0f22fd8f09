// `std::lock_guard<std::mutex>(mutex);` without a name locks and unlocks at once.
#include "invisible.h"
#include <mutex>
#include <thread>

std::mutex mutex;
int shared;

int main() {
  std::thread first([] {
    std::lock_guard<std::mutex> guard(mutex);
    shared = 1;
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    (void)std::lock_guard<std::mutex>(mutex);
    shared = 2; // RACE a
    invisible_signal(2);
  });
  std::thread third([] {
    invisible_wait(2);
    std::lock_guard<std::mutex> guard(mutex);
    shared = 3; // RACE a
  });
  first.join();
  second.join();
  third.join();
}
