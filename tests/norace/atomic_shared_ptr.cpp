// std::atomic<std::shared_ptr> hands an object over.
#include "invisible.h"
#include <atomic>
#include <memory>
#include <thread>

std::atomic<std::shared_ptr<int>> slot;

int main() {
  std::thread first([] {
    auto fresh = std::make_shared<int>(1);
    *fresh = 2;
    slot.store(std::move(fresh));
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    auto taken = slot.exchange(nullptr);
    *taken = 3;
  });
  first.join();
  second.join();
}
