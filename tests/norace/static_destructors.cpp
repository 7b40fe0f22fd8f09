// A global object is used by a thread that is joined, and destroyed after main() ends.
#include "invisible.h"
#include <string>
#include <thread>
#include <vector>

struct Log {
  std::vector<std::string> lines;
  ~Log() { invisible_use(lines.size()); }
};
Log log_object;

int main() {
  std::thread writer([] { log_object.lines.push_back("a line that is long enough for the heap"); });
  writer.join();
  log_object.lines.push_back("another");
}
