// A unique_lock with std::defer_lock that nobody locks.
#include "invisible.h"
#include <mutex>
#include <thread>

std::mutex mutex;
int shared;

int main() {
  std::thread first([] {
    std::unique_lock<std::mutex> lock(mutex, std::defer_lock);
    shared = 1; // RACE a
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    std::unique_lock<std::mutex> lock(mutex);
    shared = 2; // RACE a
  });
  first.join();
  second.join();
}
