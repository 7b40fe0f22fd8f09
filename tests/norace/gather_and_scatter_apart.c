// Two threads whose indices lead to different elements, bytes of the same words among them; and to the same ones, under a lock or one after the other.
#include "two_threads.h"

enum { N = 1000 };
int left[N], right[N], all[N];
char bytes[2 * N];
double sums[2 * N], table[N];
long total[N];
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *run(const int *index) {
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < N; i++) {
      bytes[index[i]]++;
      sums[index[i]] += table[all[i]];
    }
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < N; i++)
      total[all[i]] += index[i];
    pthread_mutex_unlock(&mutex);
  }
  return 0;
}

static void *first(void *arg) {
  run(left);
  return arg;
}

static void *second(void *arg) {
  run(right);
  return arg;
}

int main(void) {
  for (int i = 0; i < N; i++) {
    all[i] = i * 3 % N;
    left[i] = 2 * all[i];
    right[i] = 2 * i + 1;
    table[i] = i;
  }
  run2(first, second);
  // All is joined.
  for (int i = 0; i < N; i++)
    sums[right[i]] = 0;
}
