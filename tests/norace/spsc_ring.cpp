// A single-producer single-consumer ring with acquire and release indices.
#include "invisible.h"
#include <atomic>
#include <thread>

constexpr int SLOTS = 8, ITEMS = 3000;
int ring[SLOTS];
std::atomic<int> head, tail;

int main() {
  std::thread producer([] {
    for (int i = 0; i < ITEMS; i++) {
      while (i - tail.load(std::memory_order_acquire) == SLOTS)
        std::this_thread::yield();
      ring[i % SLOTS] = i;
      head.store(i + 1, std::memory_order_release);
    }
  });
  long sum = 0;
  for (int i = 0; i < ITEMS; i++) {
    while (head.load(std::memory_order_acquire) == i)
      std::this_thread::yield();
    sum += ring[i % SLOTS];
    tail.store(i + 1, std::memory_order_release);
  }
  producer.join();
  return sum == long(ITEMS) * (ITEMS - 1) / 2 ? 0 : 1;
}
