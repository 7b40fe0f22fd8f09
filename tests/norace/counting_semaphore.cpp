// std::counting_semaphore and std::binary_semaphore: acquire, try_acquire and try_acquire_for.
#include "invisible.h"
#include <chrono>
#include <semaphore>
#include <thread>

std::counting_semaphore<4> full(0);
std::binary_semaphore back(0);
int data;

int main() {
  std::thread first([] {
    data = 1;
    full.release();
    while (!back.try_acquire())
      std::this_thread::yield();
    data = 3;
    full.release(2);
  });
  std::thread second([] {
    full.acquire();
    data = 2;
    back.release();
    if (!full.try_acquire_for(std::chrono::hours(1)))
      std::terminate();
    data = 4;
  });
  first.join();
  second.join();
}
