// A function-local static is initialised once, and everybody is ordered after that.
#include "invisible.h"
#include <thread>

int source = 1;

struct Table {
  int entries[16];
  Table() {
    for (int i = 0; i < 16; i++)
      entries[i] = i * source;
  }
};

static Table &table() {
  static Table only;
  return only;
}

int main() {
  std::thread first([] {
    invisible_use(table().entries[7]);
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    invisible_use(table().entries[7]);
  });
  first.join();
  second.join();
}
