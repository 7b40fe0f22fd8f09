// Two threads rethrow one exception_ptr: both get the same object, and both change it.
#include "invisible.h"
#include <exception>
#include <thread>

struct Problem {
  int code;
};

static void change(std::exception_ptr problem) {
  try {
    std::rethrow_exception(problem);
  } catch (Problem &caught) {
    caught.code++; // RACE a
  }
}

int main() {
  auto problem = std::make_exception_ptr(Problem{1});
  std::thread first([&] {
    change(problem);
    invisible_signal(1);
  });
  std::thread second([&] {
    invisible_wait(1);
    change(problem);
  });
  first.join();
  second.join();
}
