// std::scoped_lock takes two mutexes in any order without a deadlock, by trying.
#include "invisible.h"
#include <mutex>
#include <thread>

std::mutex left, right;
int data;

int main() {
  std::thread first([] {
    for (int i = 0; i < 500; i++) {
      std::scoped_lock lock(left, right);
      data++;
    }
  });
  std::thread second([] {
    for (int i = 0; i < 500; i++) {
      std::scoped_lock lock(right, left);
      data++;
    }
  });
  first.join();
  second.join();
  return data == 1000 ? 0 : 1;
}
