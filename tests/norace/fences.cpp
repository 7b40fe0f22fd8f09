// Standalone fences around relaxed atomics, C++ spelling.
// tsan: false alarm (fences are not modelled)
#include "invisible.h"
#include <atomic>
#include <thread>

std::atomic<int> flag;
int data;

int main() {
  std::thread first([] {
    data = 1;
    std::atomic_thread_fence(std::memory_order_release);
    flag.store(1, std::memory_order_relaxed);
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    while (!flag.load(std::memory_order_relaxed))
      std::this_thread::yield();
    std::atomic_thread_fence(std::memory_order_acquire);
    data = 2;
  });
  first.join();
  second.join();
}
