// fetch_add on std::atomic<double> is a loop of compare-exchanges.
#include "invisible.h"
#include <atomic>
#include <thread>

std::atomic<double> sum;
int data;

int main() {
  std::thread first([] {
    data = 1;
    sum.fetch_add(1.5, std::memory_order_release);
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    sum.fetch_add(1.5, std::memory_order_acquire);
    data = 2;
  });
  first.join();
  second.join();
}
