// Monte Carlo pricing: SIZE paths of a geometric Brownian motion, 1000 days each. A path is an object on the heap with an
// array of values and its own random stream; results go to a shared list under a lock. The mean return rate must be that of the
// model. Default 5,000 paths; large: 20,000 (160 MB).
// Seeded race: the list is appended to without the lock.
#include "bench.h"

enum { DAYS = 1000 };
struct path {
  double *values;
  double rate;
  long number;
  struct path *next;
};
static struct path *results;
static long next_task;
static pthread_mutex_t task_mutex = PTHREAD_MUTEX_INITIALIZER, result_mutex = PTHREAD_MUTEX_INITIALIZER;
static const double drift = 0.05, volatility = 0.2, dt = 1.0 / 365;

static double gaussian(uint64_t *state) {
  // The polar method.
  for (;;) {
    double a = 2 * bench_uniform(state) - 1, b = 2 * bench_uniform(state) - 1, s = a * a + b * b;
    if (s > 0 && s < 1)
      return a * sqrt(-2 * log(s) / s);
  }
}

static struct path *simulate(long number) {
  struct path *path = malloc(sizeof *path);
  if (!path)
    exit(2);
  path->values = malloc(DAYS * sizeof *path->values);
  if (!path->values)
    exit(2);
  uint64_t seed = (uint64_t)number * 11 + 1;
  path->number = number;
  path->values[0] = 100;
  for (int day = 1; day < DAYS; day++) {
    double change = (drift - volatility * volatility / 2) * dt + volatility * sqrt(dt) * gaussian(&seed);
    path->values[day] = path->values[day - 1] * exp(change);
  }
  double sum = 0;
  for (int day = 1; day < DAYS; day++)
    sum += log(path->values[day] / path->values[day - 1]);
  path->rate = sum / ((DAYS - 1) * dt) + volatility * volatility / 2;
  return path;
}

static void work(int thread) {
  (void)thread;
  for (;;) {
    pthread_mutex_lock(&task_mutex);
    long from = next_task;
    next_task += 20;
    pthread_mutex_unlock(&task_mutex);
    if (from >= bench_size)
      return;
    for (long i = from; i < from + 20 && i < bench_size; i++) {
      struct path *path = simulate(i);
      if (!seeded_race)
        pthread_mutex_lock(&result_mutex);
      path->next = results; // RACE
      results = path;       // RACE
      if (!seeded_race)
        pthread_mutex_unlock(&result_mutex);
    }
  }
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 5000);
  bench_parallel(work);
  // In billionths: whole numbers have one sum, whatever the order.
  long count = 0, sum = 0;
  while (results) {
    struct path *path = results;
    results = path->next;
    sum += lround(path->rate * 1e9);
    count++;
    free(path->values);
    free(path);
  }
  double mean = sum / 1e9 / bench_size;
  // Four standard errors.
  double error = volatility / sqrt((DAYS - 1) * dt) / sqrt((double)bench_size);
  return bench_end("montecarlo", mean, count == bench_size && fabs(mean - drift) < 4 * error);
}
