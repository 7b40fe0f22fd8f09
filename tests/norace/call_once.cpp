// std::call_once: also after an initialiser that threw.
// timeout: 20
// tsan: hangs (an exception out of the initialiser leaves its own state of pthread_once() locked)
#include "invisible.h"
#include <mutex>
#include <stdexcept>
#include <thread>

std::once_flag once;
int attempts, data;

static void initialise() {
  if (++attempts == 1)
    throw std::runtime_error("not yet");
  data = 1;
}

int main() {
  std::thread first([] {
    try {
      std::call_once(once, initialise);
    } catch (const std::runtime_error &) {
    }
    std::call_once(once, initialise);
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    std::call_once(once, initialise);
    invisible_use(data);
  });
  first.join();
  second.join();
}
