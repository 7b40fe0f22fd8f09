// The task's result is read before anybody waited for the task.
// flags: -fopenmp
// libs: -fopenmp
// tsan: varies (its libomp is not told apart from the program)
#include "invisible.h"
#include <omp.h>

static int result, seen;

int main(void) {
  omp_set_dynamic(0);
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task
    {
      result = 42; // RACE a
      invisible_signal(1);
    }
    // The other thread waits at the end of `single` and takes the task.
    invisible_wait(1);
    seen = result; // RACE a
  }
  return seen == 42 ? 0 : 1;
}
