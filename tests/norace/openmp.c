// OpenMP on libomp, with libarcher telling what orders its threads: loops, a reduction, a critical section, an atomic,
// barriers, single and master, ordered, sections, tasks with dependences, and locks. Needs no change of the program.
// flags: -fopenmp
// libs: -fopenmp
// tsan: varies (its libomp is not told apart from the program)
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 400 };
static int numbers[N], sum, locked, critical, single, in_order, steps[4];

static void must(int condition) {
  if (!condition)
    abort();
}

static int fib(int n) {
  int a, b;
  if (n < 2)
    return n;
#pragma omp task shared(a)
  a = fib(n - 1);
#pragma omp task shared(b)
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}

int main(void) {
  omp_set_num_threads(4);
  omp_set_dynamic(0);
#pragma omp parallel for
  for (int i = 0; i < N; i++)
    numbers[i] = i;
  int total = 0;
#pragma omp parallel for reduction(+ : total) schedule(dynamic, 7)
  for (int i = 0; i < N; i++)
    total += numbers[i];
  must(total == N * (N - 1) / 2);

  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel
  {
#pragma omp critical
    critical++;
#pragma omp barrier
    must(critical == 4);
    omp_set_lock(&lock);
    locked++;
    omp_unset_lock(&lock);
#pragma omp single
    single = critical;
    must(single == 4);
#pragma omp master
    sum = single;
#pragma omp barrier
    must(sum == 4);
#pragma omp for ordered
    for (int i = 0; i < 4; i++) {
#pragma omp ordered
      in_order = in_order * 2 + i;
    }
  }
  omp_destroy_lock(&lock);
  must(locked == 4 && in_order == 11);

#pragma omp parallel sections
  {
#pragma omp section
    steps[0] = 1;
#pragma omp section
    steps[1] = 2;
  }
  must(steps[0] + steps[1] == 3);

  int result = 0, piped = 0;
#pragma omp parallel
#pragma omp single
  {
    result = fib(8);
#pragma omp task depend(out : piped)
    piped = 1;
#pragma omp task depend(inout : piped)
    piped++;
#pragma omp task depend(in : piped)
    must(piped == 2);
#pragma omp taskgroup
    {
#pragma omp task
      steps[2] = 5;
    }
    must(steps[2] == 5);
  }
  must(result == 21 && piped == 2);
  return 0;
}
