// std::latch: count_down() before wait().
#include "invisible.h"
#include <latch>
#include <thread>

std::latch ready(2);
int left, right;

int main() {
  std::thread first([] {
    left = 1;
    ready.count_down();
  });
  std::thread second([] {
    right = 1;
    ready.arrive_and_wait();
    left++;
  });
  ready.wait();
  second.join();
  left++;
  right++;
  first.join();
}
