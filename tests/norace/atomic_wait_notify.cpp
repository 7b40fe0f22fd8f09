// std::atomic::wait() and notify_one(), and std::atomic_flag.
#include "invisible.h"
#include <atomic>
#include <thread>

std::atomic<int> state;
std::atomic_flag flag;
int data;

int main() {
  std::thread other([] {
    state.wait(0);
    data++;
    flag.test_and_set();
    flag.notify_one();
  });
  data = 1;
  state = 1;
  state.notify_one();
  flag.wait(false);
  data++;
  other.join();
}
