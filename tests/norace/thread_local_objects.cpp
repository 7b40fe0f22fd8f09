// thread_local objects with constructors and destructors; the destructors report into a locked list.
#include "invisible.h"
#include <mutex>
#include <thread>
#include <vector>

std::mutex mutex;
std::vector<int> ended;

struct Own {
  std::vector<int> values;
  ~Own() {
    std::lock_guard guard(mutex);
    ended.push_back(static_cast<int>(values.size()));
  }
};
thread_local Own own;

int main() {
  std::thread first([] { own.values.assign(5, 1); });
  std::thread second([] { own.values.assign(7, 1); });
  first.join();
  second.join();
  return ended.size() == 2 && ended[0] + ended[1] == 12 ? 0 : 1;
}
