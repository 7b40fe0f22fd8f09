// One thread inserts into a map that another one searches.
#include "invisible.h"
#include <map>
#include <thread>

std::map<int, int> *table;

int main() {
  table = new std::map<int, int>();
  std::thread first([] {
    table->emplace(1, 1); // RACE a
    invisible_signal(1);
  });
  std::thread second([] {
    invisible_wait(1);
    invisible_use(table->count(1)); // RACE a
  });
  first.join();
  second.join();
}
