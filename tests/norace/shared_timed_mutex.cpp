// std::shared_timed_mutex: try_lock_for() after a reader, try_lock_shared_for() after a writer.
// tsan: false alarm (pthread_rwlock_clockrdlock() and -wrlock() are not intercepted)
#include "invisible.h"
#include <chrono>
#include <shared_mutex>
#include <thread>

std::shared_timed_mutex mutex;
int data;

int main() {
  std::thread first([] {
    if (!mutex.try_lock_for(std::chrono::hours(1)))
      std::terminate();
    data = 1;
    mutex.unlock();
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    if (!mutex.try_lock_shared_for(std::chrono::hours(1)))
      std::terminate();
    invisible_use(data);
    mutex.unlock_shared();
    invisible_signal(2);
  });
  std::thread third([] {
    invisible_wait(2);
    if (!mutex.try_lock_for(std::chrono::hours(1)))
      std::terminate();
    data = 3;
    mutex.unlock();
  });
  first.join();
  second.join();
  third.join();
}
