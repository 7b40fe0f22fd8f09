// A runtime that remembers which bytes checks name, and tells them at each `mark`.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 1 << 16, MARKS = 2000 };
static char *const base = (char *)0x200000000000;
static unsigned char written[SIZE], touched[SIZE];

char *region(void) {
  if (mmap(base, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != base)
    _exit(3);
  return base;
}

static void touch(const char *from, uint64_t bytes, int write) {
  if (bytes > 1 << 20) {
    printf("too many bytes: %llu\n", (unsigned long long)bytes);
    return;
  }
  for (uint64_t i = 0; i < bytes; i++) {
    uint64_t at = (uint64_t)from + i - (uint64_t)base;
    if (at < SIZE) {
      touched[at] = 1;
      written[at] |= write;
    }
  }
}

static void strided(const char *from, uint32_t size, uint64_t count, uint64_t stride, int write) {
  for (uint64_t i = 0; i < count && i < 1 << 20; i++)
    touch(from + i * stride, size, write);
}

#define NAMED(name, n)                                               \
  void __footrace_read##name(const char *p) { touch(p, n, 0); }      \
  void __footrace_write##name(const char *p) { touch(p, n, 1); }
#define SIZED(n) NAMED(n, n)
SIZED(1)
SIZED(2)
SIZED(4)
SIZED(8)
SIZED(16)
SIZED(24)
SIZED(32)
NAMED(_unaligned2, 2)
NAMED(_unaligned4, 4)
NAMED(_unaligned8, 8)
NAMED(_unaligned16, 16)
void __footrace_read_range(const char *p, uint64_t n) { touch(p, n, 0); }
void __footrace_write_range(const char *p, uint64_t n) { touch(p, n, 1); }
void __footrace_read_strided(const char *p, uint32_t e, uint64_t c, uint64_t s) { strided(p, e, c, s, 0); }
void __footrace_write_strided(const char *p, uint32_t e, uint64_t c, uint64_t s) { strided(p, e, c, s, 1); }
static void gathered(char *const *list, uint64_t count, uint32_t size, int write) {
  for (uint64_t i = 0; i < count; i++)
    touch(list[i], size, write);
}
void __footrace_read_gathered(char *const *l, uint64_t c, uint32_t s) { gathered(l, c, s, 0); }
void __footrace_write_gathered(char *const *l, uint64_t c, uint32_t s) { gathered(l, c, s, 1); }
void __footrace_init(const char *note) { (void)note; }

static void tell(const char *what, unsigned char *bytes) {
  printf("%s", what);
  for (int i = 0; i < SIZE; i++)
    if (bytes[i] && (i == 0 || !bytes[i - 1])) {
      int end = i;
      while (end < SIZE && bytes[end])
        end++;
      printf(" %d..%d", i, end);
    }
  printf("\n");
  memset(bytes, 0, SIZE);
}

// Unknown to the program: no check may cross it.
void mark(int number) {
  static int marks;
  printf("mark %d\n", number);
  tell("written", written);
  tell("touched", touched);
  if (++marks == MARKS) {
    fflush(stdout);
    _exit(0);
  }
}
