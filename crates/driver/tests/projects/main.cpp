// Four threads count, under a lock unless the first argument is "race".
#include "counter.h"
#include <cstring>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex lock;

int main(int argc, char **argv) {
  bool race = argc > 1 && !std::strcmp(argv[1], "race");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([race] {
      std::unique_lock<std::mutex> guard(lock, std::defer_lock);
      if (!race)
        guard.lock();
      counter_bump();
    });
  for (auto &thread : threads)
    thread.join();
  std::cout << "counted " << (counter_value() > 0) << std::endl;
}
