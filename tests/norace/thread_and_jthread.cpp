// std::thread orders by its constructor and join(); std::jthread joins in its destructor.
#include "invisible.h"
#include <thread>

int data;

int main() {
  data = 1;
  std::thread one([] { data++; });
  one.join();
  { std::jthread two([] { data++; }); }
  data++;
}
