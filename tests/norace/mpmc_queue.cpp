// Vyukov's bounded multi-producer multi-consumer queue: a sequence number a slot.
#include "invisible.h"
#include <atomic>
#include <thread>
#include <vector>

constexpr unsigned SLOTS = 16, ITEMS = 2000;
struct Slot {
  std::atomic<unsigned> sequence;
  unsigned value;
};
Slot slots[SLOTS];
std::atomic<unsigned> in, out;
std::atomic<unsigned long> sum;

static void put(unsigned value) {
  for (unsigned at = in.load(std::memory_order_relaxed);;) {
    Slot &slot = slots[at % SLOTS];
    unsigned sequence = slot.sequence.load(std::memory_order_acquire);
    if (sequence == at && in.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
      slot.value = value;
      slot.sequence.store(at + 1, std::memory_order_release);
      return;
    }
    if (sequence != at) {
      std::this_thread::yield();
      at = in.load(std::memory_order_relaxed);
    }
  }
}

static unsigned take() {
  for (unsigned at = out.load(std::memory_order_relaxed);;) {
    Slot &slot = slots[at % SLOTS];
    unsigned sequence = slot.sequence.load(std::memory_order_acquire);
    if (sequence == at + 1 && out.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
      unsigned value = slot.value;
      slot.sequence.store(at + SLOTS, std::memory_order_release);
      return value;
    }
    if (sequence != at + 1) {
      std::this_thread::yield();
      at = out.load(std::memory_order_relaxed);
    }
  }
}

int main() {
  for (unsigned i = 0; i < SLOTS; i++)
    slots[i].sequence = i;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; t++) {
    threads.emplace_back([] {
      for (unsigned i = 0; i < ITEMS; i++)
        put(i);
    });
    threads.emplace_back([] {
      for (unsigned i = 0; i < ITEMS; i++)
        sum.fetch_add(take(), std::memory_order_relaxed);
    });
  }
  for (auto &thread : threads)
    thread.join();
  return sum == 2ul * (ITEMS * (ITEMS - 1) / 2) ? 0 : 1;
}
