// std::condition_variable: wait, wait_for and wait_until with predicates.
#include "invisible.h"
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

std::mutex mutex;
std::condition_variable changed;
int turn, data;

int main() {
  std::thread other([] {
    for (int mine = 1; mine < 6; mine += 2) {
      std::unique_lock lock(mutex);
      changed.wait_for(lock, std::chrono::hours(1), [=] { return turn == mine; });
      lock.unlock();
      data++;
      lock.lock();
      turn++;
      changed.notify_all();
    }
  });
  for (int mine = 0; mine < 6; mine += 2) {
    std::unique_lock lock(mutex);
    auto later = std::chrono::system_clock::now() + std::chrono::hours(1);
    changed.wait_until(lock, later, [=] { return turn == mine; });
    lock.unlock();
    data++;
    lock.lock();
    turn++;
    changed.notify_all();
  }
  other.join();
  return data == 6 ? 0 : 1;
}
