// set_value() comes before the write that it should announce.
#include "invisible.h"
#include <future>
#include <thread>

int data;

int main() {
  std::promise<void> promise;
  std::thread first([&] {
    promise.set_value();
    data = 1; // RACE a
    invisible_signal(1);
  });
  promise.get_future().wait();
  invisible_wait(1);
  invisible_use(data); // RACE a
  first.join();
}
