// A spin lock made of exchange(acquire) and store(release).
#include "invisible.h"
#include <atomic>
#include <thread>

std::atomic<bool> locked;
int data;

static void work() {
  for (int i = 0; i < 1000; i++) {
    while (locked.exchange(true, std::memory_order_acquire))
      std::this_thread::yield();
    data++;
    locked.store(false, std::memory_order_release);
  }
}

int main() {
  std::thread first(work), second(work);
  first.join();
  second.join();
  return data == 2000 ? 0 : 1;
}
