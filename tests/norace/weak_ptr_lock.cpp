// weak_ptr::lock() from another thread, before and after the object dies.
#include "invisible.h"
#include <memory>
#include <thread>

int main() {
  auto object = std::make_shared<int>(1);
  std::weak_ptr<int> weak = object;
  std::thread other([weak] {
    if (auto locked = weak.lock())
      invisible_use(*locked);
    invisible_signal(1);
    invisible_wait(2);
    if (weak.lock())
      std::terminate();
  });
  invisible_wait(1);
  object.reset();
  invisible_signal(2);
  other.join();
}
