// A sequence lock done right: the data are relaxed atomics, fences order them with the counter.
#include "invisible.h"
#include <atomic>
#include <thread>

std::atomic<unsigned> sequence;
std::atomic<int> left, right;

int main() {
  std::thread writer([] {
    for (int i = 1; i < 500; i++) {
      sequence.fetch_add(1, std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_release);
      left.store(i, std::memory_order_relaxed);
      right.store(-i, std::memory_order_relaxed);
      sequence.fetch_add(1, std::memory_order_release);
    }
  });
  int bad = 0;
  for (int i = 0; i < 500; i++) {
    unsigned before = sequence.load(std::memory_order_acquire);
    int a = left.load(std::memory_order_relaxed), b = right.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && before == sequence.load(std::memory_order_relaxed) && a != -b)
      bad = 1;
  }
  writer.join();
  return bad;
}
