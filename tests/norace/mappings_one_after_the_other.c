// A program that maps memory at other addresses each time: what the detector knows of it goes when it is unmapped.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 1 << 20, ROUNDS = 100 };
// Of 200 MB, one after the other, of which an eighth of the words is written.
enum { MOST = 64 << 20 };
static long sums[2];

static void *work(void *arg) {
  long thread = (long)arg, sum = 0;
  for (long round = 0; round < ROUNDS; round++) {
    void *hint = (void *)(0x100000000000 + thread * 0x10000000000 + round * 2 * BYTES);
    volatile long *words = mmap(hint, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (words == MAP_FAILED)
      return perror("mmap"), NULL;
    // In no order that could be remembered by ranges.
    for (long at = 0, count = 0; count < BYTES / 64; count++, at = (at + 40503) % (BYTES / 8))
      words[at] = sum += at;
    munmap((void *)words, BYTES);
  }
  sums[thread] = sum;
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (long i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, work, (void *)i);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  FILE *file = fopen("/proc/self/statm", "r");
  long pages = 0;
  if (!file || fscanf(file, "%*d %ld", &pages) != 1)
    return fprintf(stderr, "cannot read /proc/self/statm\n"), 1;
  fclose(file);
  if (pages * sysconf(_SC_PAGESIZE) > MOST)
    return fprintf(stderr, "%ld pages are still there\n", pages), 1;
  return sums[0] != sums[1];
}
