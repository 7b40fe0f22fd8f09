// A ray tracer: 64 spheres, one light, shadows and reflections, an image of SIZE x SIZE pixels. Each thread renders every
// n-th row into an array of its own and adds its pixels to one checksum, a whole number and so the same for any number of threads.
// Default 300; large: 3600 (52 MB).
// Seeded race: the checksum is updated without the lock.
#include "bench.h"

typedef struct {
  double x, y, z;
} vector;
struct surface {
  double diffuse, shine, reflect;
  vector colour;
};
struct sphere {
  vector centre;
  double radius2;
  struct surface *surface;
};
struct hit {
  const struct sphere *sphere;
  double distance;
};

enum { SPHERES = 64, DEPTH = 4 };
static struct sphere *spheres[SPHERES];
static vector light = {100, 100, -50};
static long checksum;
static int *pixels[256];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static vector add(vector a, double s, vector b) { return (vector){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z}; }
static double dot(vector a, vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static vector unit(vector a) {
  double length = sqrt(dot(a, a));
  return (vector){a.x / length, a.y / length, a.z / length};
}

static struct hit nearest(vector from, vector direction) {
  struct hit best = {0, 1e30};
  for (int i = 0; i < SPHERES; i++) {
    const struct sphere *sphere = spheres[i];
    vector to = add(sphere->centre, -1, from);
    double b = dot(to, direction), disc = b * b - dot(to, to) + sphere->radius2;
    if (disc <= 0)
      continue;
    double root = sqrt(disc), t = b - root > 1e-6 ? b - root : b + root;
    if (t > 1e-6 && t < best.distance)
      best = (struct hit){sphere, t};
  }
  return best;
}

static vector trace(vector from, vector direction, int depth) {
  struct hit hit = nearest(from, direction);
  if (!hit.sphere)
    return (vector){0, 0, 0.1 + 0.1 * direction.y};
  const struct surface *surface = hit.sphere->surface;
  vector point = add(from, hit.distance, direction);
  vector normal = unit(add(point, -1, hit.sphere->centre));
  vector to_light = unit(add(light, -1, point));
  vector colour = {0, 0, 0};
  double facing = dot(normal, to_light);
  if (facing > 0 && !nearest(point, to_light).sphere) {
    colour = add(colour, facing * surface->diffuse, surface->colour);
    vector mirrored = add(to_light, -2 * facing, normal);
    double shine = dot(direction, mirrored);
    if (shine > 0)
      colour = add(colour, pow(shine, surface->shine), (vector){1, 1, 1});
  }
  if (surface->reflect > 0 && depth < DEPTH)
    colour = add(colour, surface->reflect, trace(point, add(direction, -2 * dot(direction, normal), normal), depth + 1));
  return colour;
}

static int channel(double value) { return value > 1 ? 255 : (int)(value * 255); }

static void work(int thread) {
  long own = 0, rows = (bench_size - thread + bench_threads - 1) / bench_threads;
  int *next = pixels[thread] = bench_alloc((rows > 0 ? rows : 1) * bench_size * sizeof *next);
  for (long line = thread; line < bench_size; line += bench_threads)
    for (long column = 0; column < bench_size; column++) {
      double u = (column + 0.5) / bench_size - 0.5, v = 0.5 - (line + 0.5) / bench_size;
      vector colour = trace((vector){0, 0, -30}, unit((vector){u, v, 1}), 0);
      int red = channel(colour.x), green = channel(colour.y), blue = channel(colour.z);
      *next++ = red << 16 | green << 8 | blue;
      own += red + green + blue;
    }
  if (!seeded_race)
    pthread_mutex_lock(&mutex);
  checksum += own; // RACE
  if (!seeded_race)
    pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 300);
  for (int i = 0; i < SPHERES; i++) {
    spheres[i] = bench_alloc(sizeof *spheres[i]);
    spheres[i]->centre = (vector){(i % 4 - 1.5) * 6, (i / 4 % 4 - 1.5) * 6, (i / 16 - 1.5) * 6};
    spheres[i]->radius2 = 2.5 * 2.5;
    spheres[i]->surface = bench_alloc(sizeof *spheres[i]->surface);
    *spheres[i]->surface = (struct surface){0.7, 15, 0.3, {(i % 4) / 4.0 + 0.2, (i / 4 % 4) / 4.0 + 0.2, (i / 16) / 4.0 + 0.2}};
  }
  bench_parallel(work);
  long sum = 0;
  for (long line = 0; line < bench_size; line++) {
    const int *row = pixels[line % bench_threads] + line / bench_threads * bench_size;
    for (long column = 0; column < bench_size; column++)
      sum += (row[column] >> 16) + (row[column] >> 8 & 255) + (row[column] & 255);
  }
  int right = sum == checksum && sum > 0;
  if (bench_size == 300)
    right &= sum == 6852544;
  return bench_end("raytracer", (double)checksum, right);
}
