// Strides that are no power of two, elements larger than a word, fields of the elements of an array.
#include "two_threads.h"

struct particle {
  double x, y, z;
  int charge, kind;
  double w;
};
enum { N = 500 };
struct particle particles[N];
long double wide[N];
char packed[N * 7];

static void *other_side(void *arg) {
  particles[250].y = 1;      // RACE a
  particles[250].z = 1;
  particles[251].charge = 1; // RACE b
  particles[251].kind = 1;
  wide[3] = 1; // RACE c
  packed[7 * 100 + 2] = 1; // RACE d
  packed[7 * 100 + 3] = 1;
  invisible_signal(1);
  return arg;
}

static void *loops(void *arg) {
  invisible_wait(1);
  for (int i = 0; i < N; i++)
    particles[i].y = i; // RACE a
  for (int i = 1; i < N; i += 5)
    particles[i].charge = i; // RACE b
  for (int i = 0; i < N; i += 3)
    wide[i] = i; // RACE c
  for (int i = 2; i < N * 7; i += 7)
    packed[i] = 1; // RACE d
  return arg;
}

int main(void) { run2(other_side, loops); }
