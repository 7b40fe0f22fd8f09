// Two threads sort and fill the two halves of one vector.
#include "invisible.h"
#include <algorithm>
#include <thread>
#include <vector>

int main() {
  std::vector<int> numbers(2000);
  auto middle = numbers.begin() + 1000;
  auto fill = [](auto from, auto to) {
    int next = 7;
    for (auto it = from; it != to; ++it)
      *it = next = (next * 31 + 11) % 1009;
    std::sort(from, to);
  };
  std::thread first(fill, numbers.begin(), middle);
  std::thread second(fill, middle, numbers.end());
  first.join();
  second.join();
  return std::is_sorted(numbers.begin(), middle) && std::is_sorted(middle, numbers.end()) ? 0 : 1;
}
