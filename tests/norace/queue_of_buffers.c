// A bounded queue: buffers are filled by one thread and emptied by another, mutex and two conditions.
#include "two_threads.h"

enum { SLOTS = 4, ITEMS = 2000 };
struct {
  int items[8];
} slots[SLOTS];
int head, tail, used;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;

static void *producer(void *arg) {
  for (int i = 0; i < ITEMS; i++) {
    pthread_mutex_lock(&mutex);
    while (used == SLOTS)
      pthread_cond_wait(&not_full, &mutex);
    pthread_mutex_unlock(&mutex);
    // The slot is this thread's alone now.
    for (int k = 0; k < 8; k++)
      slots[head].items[k] = i + k;
    pthread_mutex_lock(&mutex);
    head = (head + 1) % SLOTS;
    used++;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&mutex);
  }
  return arg;
}

static void *consumer(void *arg) {
  for (int i = 0; i < ITEMS; i++) {
    pthread_mutex_lock(&mutex);
    while (used == 0)
      pthread_cond_wait(&not_empty, &mutex);
    pthread_mutex_unlock(&mutex);
    for (int k = 0; k < 8; k++)
      must(slots[tail].items[k] == i + k);
    pthread_mutex_lock(&mutex);
    tail = (tail + 1) % SLOTS;
    used--;
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&mutex);
  }
  return arg;
}

int main(void) { run2(producer, consumer); }
