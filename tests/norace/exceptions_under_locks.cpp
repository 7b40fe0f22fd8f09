// Exceptions unwind through lock guards: the locks are given back on the way.
#include "invisible.h"
#include <mutex>
#include <thread>

std::mutex mutex;
int data;

static void dive(int depth) {
  std::lock_guard guard(mutex);
  data++;
  if (depth % 2)
    throw depth;
}

static void work() {
  for (int i = 0; i < 300; i++) {
    try {
      dive(i);
    } catch (int) {
    }
  }
}

int main() {
  std::thread first(work), second(work);
  first.join();
  second.join();
  return data == 600 ? 0 : 1;
}
