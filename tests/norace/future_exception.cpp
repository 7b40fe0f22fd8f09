// An exception travels through a future to another thread.
#include "invisible.h"
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

int main() {
  std::promise<void> promise;
  std::thread thrower([&] {
    try {
      throw std::runtime_error(std::string("a message that lives on the heap of another thread"));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  });
  int ok = 1;
  try {
    promise.get_future().get();
  } catch (const std::runtime_error &error) {
    ok = error.what()[0] == 'a' ? 0 : 1;
  }
  thrower.join();
  return ok;
}
