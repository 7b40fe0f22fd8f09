// Double-checked creation with a relaxed load on the fast path: the pointer is fine, the object is not.
#include "invisible.h"
#include <atomic>
#include <mutex>
#include <thread>

struct Object {
  int value;
};
std::atomic<Object *> instance;
std::mutex mutex;
Object *object;

int main() {
  object = new Object;
  std::thread creator([] {
    std::lock_guard guard(mutex);
    object->value = 1; // RACE a
    instance.store(object, std::memory_order_release);
    invisible_signal(1);
  });
  std::thread user([] {
    invisible_wait(1);
    if (Object *found = instance.load(std::memory_order_relaxed))
      invisible_use(found->value); // RACE a
  });
  creator.join();
  user.join();
}
