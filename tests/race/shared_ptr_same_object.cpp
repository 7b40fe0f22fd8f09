// Two threads assign the same shared_ptr. Its reference counts are atomic, the pointer itself is not.
#include "invisible.h"
#include <memory>
#include <thread>

std::shared_ptr<int> *shared;

int main() {
  shared = new std::shared_ptr<int>(std::make_shared<int>(1));
  std::thread first([] {
    (*shared).reset(); // RACE a
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    invisible_use(shared->get() == nullptr); // RACE a
  });
  first.join();
  second.join();
}
