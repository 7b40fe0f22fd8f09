// The caller of std::async reads what the task writes before it waits for the task.
#include "invisible.h"
#include <future>

int data;

int main() {
  auto task = std::async(std::launch::async, [] {
    data = 1; // RACE a
    invisible_signal(1);
  });
  invisible_wait(1);
  invisible_use(data); // RACE a
  task.get();
}
