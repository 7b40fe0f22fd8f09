// vector<bool> keeps bits: neighbours share a word, and writing one is reading and writing them all.
#include "invisible.h"
#include <thread>
#include <vector>

std::vector<bool> *bits;

int main() {
  bits = new std::vector<bool>(64);
  std::thread first([] {
    (*bits)[3] = true; // RACE a
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    (*bits)[4] = true; // RACE a
  });
  first.join();
  second.join();
}
