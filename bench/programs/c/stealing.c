// Work stealing: each thread has a deque of tasks under a lock of its own and steals from the others when it is empty. A task
// is a range of SIZE numbers; long ones are split, short ones summed.
// Default 100,000,000; large: 400,000,000 (more tasks, not more memory).
// Seeded race: finished tasks are counted without a lock.
#include "bench.h"
#include <sched.h>
#include <stdatomic.h>

struct task {
  long from, to;
  struct task *next;
};
static struct deque {
  pthread_mutex_t mutex;
  struct task *top;
  char padding[64];
} deques[256];
static atomic_long outstanding = 1;
static atomic_ulong sum;
static long finished;
static pthread_mutex_t finished_mutex = PTHREAD_MUTEX_INITIALIZER;

static void push(struct deque *deque, long from, long to) {
  struct task *task = malloc(sizeof *task);
  if (!task)
    exit(2);
  task->from = from;
  task->to = to;
  pthread_mutex_lock(&deque->mutex);
  task->next = deque->top;
  deque->top = task;
  pthread_mutex_unlock(&deque->mutex);
}

static struct task *pop(struct deque *deque) {
  pthread_mutex_lock(&deque->mutex);
  struct task *task = deque->top;
  if (task)
    deque->top = task->next;
  pthread_mutex_unlock(&deque->mutex);
  return task;
}

static void work(int thread) {
  uint64_t seed = thread;
  long own = 0;
  while (atomic_load_explicit(&outstanding, memory_order_acquire) > 0) {
    struct task *task = pop(&deques[thread]);
    if (!task)
      task = pop(&deques[bench_random(&seed) % (uint64_t)bench_threads]);
    if (!task) {
      sched_yield();
      continue;
    }
    if (task->to - task->from > 512) {
      long middle = (task->from + task->to) / 2;
      atomic_fetch_add_explicit(&outstanding, 2, memory_order_relaxed);
      push(&deques[thread], task->from, middle);
      push(&deques[thread], middle, task->to);
    } else {
      unsigned long part = 0;
      for (long i = task->from; i < task->to; i++)
        part += (unsigned long)i ^ (unsigned long)i >> 3;
      atomic_fetch_add_explicit(&sum, part, memory_order_relaxed);
      own++;
    }
    free(task);
    atomic_fetch_sub_explicit(&outstanding, 1, memory_order_release);
  }
  if (!seeded_race)
    pthread_mutex_lock(&finished_mutex);
  finished += own; // RACE
  if (!seeded_race)
    pthread_mutex_unlock(&finished_mutex);
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 100000000);
  for (int i = 0; i < bench_threads; i++)
    pthread_mutex_init(&deques[i].mutex, 0);
  push(&deques[0], 0, bench_size);
  bench_parallel(work);
  unsigned long expected = 0;
  for (long i = 0; i < bench_size; i++)
    expected += (unsigned long)i ^ (unsigned long)i >> 3;
  return bench_end("stealing", (double)(sum % 1000000007), sum == expected && finished > 0);
}
