// std::condition_variable_any with a shared_mutex and a stop token.
#include "invisible.h"
#include <condition_variable>
#include <shared_mutex>
#include <thread>

std::shared_mutex mutex;
std::condition_variable_any changed;
bool ready;
int data;

int main() {
  std::jthread reader([](std::stop_token token) {
    std::shared_lock lock(mutex);
    if (changed.wait(lock, token, [] { return ready; }))
      invisible_use(data);
  });
  data = 1;
  {
    std::unique_lock lock(mutex);
    ready = true;
  }
  changed.notify_all();
}
