// count_down() comes before the write that it should announce.
#include "invisible.h"
#include <latch>
#include <thread>

std::latch ready(1);
int data;

int main() {
  std::thread first([] {
    ready.count_down();
    data = 1; // RACE a
    invisible_signal(1);
  });
  std::thread second([] {
    ready.wait();
    invisible_wait(1);
    invisible_use(data); // RACE a
  });
  first.join();
  second.join();
}
