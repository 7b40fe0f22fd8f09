// pthread_atfork() handlers lock a mutex around the fork, so that the child finds consistent data.
#include "two_threads.h"
#include <sys/wait.h>
#include <unistd.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int left, right;

static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }

static void *worker(void *arg) {
  for (int i = 0; i < 2000; i++) {
    pthread_mutex_lock(&mutex);
    left++;
    right++;
    pthread_mutex_unlock(&mutex);
  }
  return arg;
}

int main(void) {
  pthread_atfork(lock, unlock, unlock);
  pthread_t thread = start(worker);
  for (int i = 0; i < 5; i++) {
    pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
      pthread_mutex_lock(&mutex);
      int same = left == right;
      pthread_mutex_unlock(&mutex);
      _exit(same ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    must(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  pthread_join(thread, 0);
}
