// One thread deletes the object that another one has just read.
#include "invisible.h"
#include <thread>

struct Node {
  long value, next;
};
Node *node;

int main() {
  node = new Node{1, 2};
  std::thread reader([] {
    invisible_use(node->next); // RACE a
    invisible_signal(1);
  });
  std::thread owner([] {
    invisible_wait(1);
    delete static_cast<Node *>(invisible_pointer(node)); // RACE a
  });
  reader.join();
  owner.join();
}
