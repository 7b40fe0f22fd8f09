// A sum that should have been a reduction: OpenMP's threads add to it without any order.
// flags: -fopenmp
// libs: -fopenmp
// tsan: varies (its libomp is not told apart from the program)
#include "invisible.h"
#include <omp.h>

static int sum;

int main(void) {
  omp_set_dynamic(0);
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1)
      invisible_wait(1);
    sum += omp_get_thread_num(); // RACE a
    if (omp_get_thread_num() == 0)
      invisible_signal(1);
  }
  return 0;
}
