// std::async, std::promise, std::packaged_task and std::shared_future hand results over.
#include "invisible.h"
#include <future>
#include <thread>

int data, more;

int main() {
  auto task = std::async(std::launch::async, [] { return data = 1; });
  task.get();
  data++;
  std::promise<int *> promise;
  std::thread keeper([&] {
    more = 1;
    promise.set_value(&more);
  });
  std::shared_future<int *> shared = promise.get_future().share();
  (*shared.get())++;
  std::packaged_task<int()> packaged([] { return ++data; });
  auto result = packaged.get_future();
  std::thread runner(std::move(packaged));
  int got = result.get();
  data++;
  keeper.join();
  runner.join();
  return got == 3 ? 0 : 1;
}
