// std::timed_mutex and std::recursive_timed_mutex with try_lock_for() and try_lock_until().
#include "invisible.h"
#include <chrono>
#include <mutex>
#include <thread>

std::timed_mutex timed;
std::recursive_timed_mutex recursive;
int data;

int main() {
  std::thread first([] {
    timed.lock();
    recursive.lock();
    data = 1;
    recursive.unlock();
    timed.unlock();
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    if (!timed.try_lock_for(std::chrono::hours(1)))
      std::terminate();
    data = 2;
    timed.unlock();
    invisible_signal(2);
  });
  std::thread third([] {
    invisible_wait(2);
    if (!timed.try_lock_until(std::chrono::system_clock::now() + std::chrono::hours(1)))
      std::terminate();
    if (!recursive.try_lock_for(std::chrono::hours(1)))
      std::terminate();
    data = 3;
    recursive.unlock();
    timed.unlock();
  });
  first.join();
  second.join();
  third.join();
}
