// The first SIZE Fourier coefficients of (x+1)^x on [0, 2], by the trapezoid rule with 1000 steps; each thread has a range
// of them. Default 8,000; large: 3,500,000 coefficients would fill 56 MB but take hours, the work is all arithmetic.
// Seeded race: each thread adds its part to a total without a lock.
#include "bench.h"

static double *cosines, *sines, total;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

// select: 0 the function, 1 times cos, 2 times sin.
static double integrand(double x, double omega_n, int select) {
  double f = pow(x + 1.0, x);
  return select == 0 ? f : select == 1 ? f * cos(omega_n * x) : f * sin(omega_n * x);
}

static double integrate(double x0, double x1, int steps, double omega_n, int select) {
  double x = x0, dx = (x1 - x0) / steps;
  double value = integrand(x0, omega_n, select) / 2.0;
  for (int left = steps - 1; left > 0; left--) {
    x += dx;
    value += integrand(x, omega_n, select);
  }
  return (value + integrand(x1, omega_n, select) / 2.0) * dx;
}

static void work(int thread) {
  long from, to;
  bench_slice(thread, bench_size, &from, &to);
  const double omega = 3.1415926535897932;
  double own = 0;
  for (long i = from; i < to; i++) {
    if (i == 0) {
      cosines[0] = integrate(0, 2, 1000, 0, 0) / 2;
      sines[0] = 0;
    } else {
      cosines[i] = integrate(0, 2, 1000, omega * i, 1);
      sines[i] = integrate(0, 2, 1000, omega * i, 2);
    }
    own += cosines[i] + sines[i];
  }
  if (!seeded_race)
    pthread_mutex_lock(&mutex);
  total += own; // RACE
  if (!seeded_race)
    pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 8000);
  cosines = bench_alloc(bench_size * sizeof *cosines);
  sines = bench_alloc(bench_size * sizeof *sines);
  bench_parallel(work);
  // Computed once by another implementation of the same rule.
  static const double known[4][2] = {{2.8819207854624507, 0.0},
                                     {1.1340408915193976, -1.8820818874413576},
                                     {0.3622257657421951, -1.1647896540860778},
                                     {0.17032237859212407, -0.8146841878127582}};
  int right = 1;
  for (long i = 0; i < 4 && i < bench_size; i++)
    right &= fabs(cosines[i] - known[i][0]) < 1e-11 && fabs(sines[i] - known[i][1]) < 1e-11;
  double sum = 0;
  for (long i = 0; i < bench_size; i++)
    sum += cosines[i] + sines[i];
  right &= fabs(sum - total) < 1e-9 * bench_size;
  return bench_end("series", sum, right);
}
