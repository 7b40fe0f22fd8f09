// std::barrier with a completion function, two hundred phases.
#include "invisible.h"
#include <barrier>
#include <thread>

int cells[2], sums[2], completed;
std::barrier phase(2, []() noexcept { completed++; });

static void work(int me) {
  for (int i = 0; i < 200; i++) {
    cells[me] = i;
    phase.arrive_and_wait();
    sums[me] += cells[1 - me];
    phase.arrive_and_wait();
  }
}

int main() {
  std::thread first(work, 0), second(work, 1);
  first.join();
  second.join();
  return completed == 400 && sums[0] == sums[1] ? 0 : 1;
}
