// A ticket lock: relaxed fetch_add to draw, acquire load to enter, release store to leave.
#include "invisible.h"
#include <atomic>
#include <thread>

std::atomic<unsigned> next_ticket, serving;
int data;

static void work() {
  for (int i = 0; i < 300; i++) {
    unsigned mine = next_ticket.fetch_add(1, std::memory_order_relaxed);
    while (serving.load(std::memory_order_acquire) != mine)
      std::this_thread::yield();
    data++;
    serving.store(mine + 1, std::memory_order_release);
  }
}

int main() {
  std::thread first(work), second(work);
  first.join();
  second.join();
  return data == 600 ? 0 : 1;
}
