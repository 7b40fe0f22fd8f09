// A coroutine is suspended on one thread and resumed on another, which starts after the suspension.
#include "invisible.h"
#include <coroutine>
#include <thread>

struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};

int data;

static Task work() {
  int local[8] = {1};
  data = 1;
  co_await std::suspend_always{};
  local[3] += 2;
  data += local[0] + local[3];
}

int main() {
  Task task = work();
  std::thread other([&] { task.handle.resume(); });
  other.join();
  data++;
  task.handle.destroy();
  return data == 5 ? 0 : 1;
}
