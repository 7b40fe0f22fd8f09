// std::shared_lock is for readers; both threads write.
#include "invisible.h"
#include <shared_mutex>
#include <thread>

std::shared_mutex mutex;
int shared;

int main() {
  std::thread first([] {
    std::shared_lock lock(mutex);
    shared = 1; // RACE a
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    std::shared_lock lock(mutex);
    shared = 2; // RACE a
  });
  first.join();
  second.join();
}
