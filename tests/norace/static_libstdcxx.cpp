// With the C++ library in the program: threads, exceptions, streams and shared pointers.
// libs: -static-libstdc++ -static-libgcc
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

int main() {
  std::mutex mutex;
  std::ostringstream all;
  auto shared = std::make_shared<int>(0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([&, shared, i] {
      try {
        throw std::runtime_error("thrown");
      } catch (std::exception &error) {
        std::lock_guard lock(mutex);
        all << error.what() << i << ' ';
        ++*shared;
      }
    });
  for (auto &thread : threads)
    thread.join();
  auto later = std::async(std::launch::async, [&] { return *shared; });
  std::cout << later.get() << std::endl;
  return *shared == 4 && all.str().size() == 32 ? 0 : 1;
}
