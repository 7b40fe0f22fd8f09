// push_back() in one thread, size() in another.
#include "invisible.h"
#include <thread>
#include <vector>

std::vector<int> *numbers;

int main() {
  numbers = new std::vector<int>();
  numbers->reserve(8);
  std::thread first([] {
    numbers->push_back(1); // RACE a
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    invisible_use(numbers->size()); // RACE a
  });
  first.join();
  second.join();
}
