// A stop request hands data over: request_stop() is ordered before stop_requested() that sees it, and before callbacks.
#include "invisible.h"
#include <stop_token>
#include <thread>

int data, called;

int main() {
  std::jthread worker([](std::stop_token token) {
    std::stop_callback callback(token, [] { called = data; });
    while (!token.stop_requested())
      std::this_thread::yield();
    invisible_use(data);
  });
  data = 1;
  worker.request_stop();
  worker.join();
  return called == 1 ? 0 : 1;
}
