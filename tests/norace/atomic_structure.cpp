// std::atomic of a structure too large for the processor: libatomic takes a lock of its own.
// libs: -latomic
// tsan: varies (it depends on whether libatomic's locks are seen)
#include "invisible.h"
#include <atomic>
#include <thread>

struct Wide {
  long words[4];
};
std::atomic<Wide> shared;
int data;

int main() {
  std::thread first([] {
    data = 1;
    shared.store(Wide{{1, 2, 3, 4}});
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    invisible_use(shared.load().words[3]);
    data = 2;
  });
  first.join();
  second.join();
}
