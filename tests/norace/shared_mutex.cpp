// std::shared_mutex: writer, reader, writer.
#include "invisible.h"
#include <mutex>
#include <shared_mutex>
#include <thread>

std::shared_mutex mutex;
int data;

int main() {
  std::thread first([] {
    std::unique_lock lock(mutex);
    data = 1;
    lock.unlock();
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    std::shared_lock lock(mutex);
    invisible_use(data);
    lock.unlock();
    invisible_signal(2);
  });
  std::thread third([] {
    invisible_wait(2);
    std::unique_lock lock(mutex);
    data = 3;
  });
  first.join();
  second.join();
  third.join();
}
