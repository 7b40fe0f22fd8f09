// A counting semaphore with room for two lets both threads in at once.
#include "invisible.h"
#include <semaphore>
#include <thread>

std::counting_semaphore<2> room(2);
int shared;

int main() {
  std::thread first([] {
    room.acquire();
    shared = 1; // RACE a
    invisible_signal(1);
    invisible_wait(2);
    room.release();
  });
  std::thread second([] {
    invisible_wait(1);
    room.acquire();
    shared = 2; // RACE a
    invisible_signal(2);
    room.release();
  });
  first.join();
  second.join();
}
