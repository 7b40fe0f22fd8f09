// Producers and consumers on four bounded queues, mutex and two conditions each: SIZE messages on the heap.
// Default 300,000; large: 5,000,000.
// Seeded race: consumers add up in a shared total without a lock.
#include "bench.h"

enum { QUEUES = 4, SLOTS = 64 };
struct message {
  long number;
  char text[24];
};
static struct queue {
  pthread_mutex_t mutex;
  pthread_cond_t not_full, not_empty;
  struct message *slots[SLOTS];
  int head, used;
} queues[QUEUES];
static long total;
static pthread_mutex_t total_mutex = PTHREAD_MUTEX_INITIALIZER;

static void put(struct queue *queue, struct message *message) {
  pthread_mutex_lock(&queue->mutex);
  while (queue->used == SLOTS)
    pthread_cond_wait(&queue->not_full, &queue->mutex);
  queue->slots[(queue->head + queue->used++) % SLOTS] = message;
  pthread_cond_signal(&queue->not_empty);
  pthread_mutex_unlock(&queue->mutex);
}

static struct message *take(struct queue *queue) {
  pthread_mutex_lock(&queue->mutex);
  while (queue->used == 0)
    pthread_cond_wait(&queue->not_empty, &queue->mutex);
  struct message *message = queue->slots[queue->head];
  queue->head = (queue->head + 1) % SLOTS;
  queue->used--;
  pthread_cond_signal(&queue->not_full);
  pthread_mutex_unlock(&queue->mutex);
  return message;
}

// Thread 2k produces for queue k (and k + THREADS/2, …), thread 2k+1 consumes from it.
static void work(int thread) {
  int pairs = bench_threads / 2, pair = thread / 2;
  long own = 0;
  for (int q = pair; q < QUEUES; q += pairs)
    for (long i = q; i < bench_size; i += QUEUES) {
      if (thread % 2 == 0) {
        struct message *message = malloc(sizeof *message);
        if (!message)
          exit(2);
        message->number = i;
        snprintf(message->text, sizeof message->text, "message %ld", i % 100);
        put(&queues[q], message);
      } else {
        struct message *message = take(&queues[q]);
        own += message->number + message->text[0];
        free(message);
      }
    }
  if (!seeded_race)
    pthread_mutex_lock(&total_mutex);
  total += own; // RACE
  if (!seeded_race)
    pthread_mutex_unlock(&total_mutex);
}

int main(int argc, char **argv) {
  bench_arguments(argc, argv, 300000);
  bench_threads += bench_threads % 2;
  for (int i = 0; i < QUEUES; i++) {
    pthread_mutex_init(&queues[i].mutex, 0);
    pthread_cond_init(&queues[i].not_full, 0);
    pthread_cond_init(&queues[i].not_empty, 0);
  }
  bench_parallel(work);
  return bench_end("queues", (double)total, total == bench_size * (bench_size - 1) / 2 + bench_size * 'm');
}
