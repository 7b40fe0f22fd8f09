// One thread appends to a string whose text another reads.
#include "invisible.h"
#include <string>
#include <thread>

std::string *text;

int main() {
  text = new std::string("a text that is too long for the small buffer");
  std::thread reader([] {
    invisible_use((*text)[3]); // RACE a
    invisible_signal(1);
  });
  std::thread writer([] {
    invisible_wait(1);
    (*text)[3] = 'x'; // RACE a
  });
  reader.join();
  writer.join();
}
