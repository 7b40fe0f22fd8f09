// The destructor of the base resets the virtual table pointer that a virtual call of another thread has read.
#include "invisible.h"
#include <thread>

struct Base {
  virtual ~Base() { // RACE a
    invisible_pointer(this);
  }
  virtual int value() { return 1; }
};

struct Derived : Base {
  ~Derived() override {}
  int value() override { return 2; }
};

Base *object;

int main() {
  object = static_cast<Base *>(invisible_pointer(new Derived));
  std::thread caller([] {
    invisible_use(object->value()); // RACE a
    invisible_signal(1);
  });
  std::thread owner([] {
    invisible_wait(1);
    object->~Base();
  });
  caller.join();
  owner.join();
}
