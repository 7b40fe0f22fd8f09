// Copies of a shared_ptr in two threads: the last one to go destroys the object, after the other's accesses.
#include "invisible.h"
#include <memory>
#include <thread>

struct Object {
  int uses[2] = {0, 0};
  ~Object() { invisible_use(uses[0] + uses[1]); }
};

int main() {
  auto object = std::make_shared<Object>();
  std::thread first([copy = object]() mutable {
    copy->uses[0]++;
    copy.reset();
    invisible_signal(1);
  });
  std::thread second([copy = std::move(object)]() mutable {
    copy->uses[1]++;
    invisible_wait(1);
    copy.reset();
  });
  first.join();
  second.join();
}
