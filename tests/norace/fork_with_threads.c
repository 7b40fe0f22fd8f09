// A thread forks while another holds no lock and works on; the child creates threads of its own, which use a mutex.
// tsan: crashes (it ends a child of a multi-threaded process that creates a thread)
#include "two_threads.h"
#include <sys/wait.h>
#include <unistd.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int data;

static void *busy(void *arg) {
  static int own;
  while (own < 100000)
    (*(int *)invisible_pointer(&own))++;
  invisible_wait(1);
  return arg;
}

static void *locked(void *arg) {
  pthread_mutex_lock(&mutex);
  data++;
  pthread_mutex_unlock(&mutex);
  return arg;
}

int main(void) {
  pthread_t other = start(busy);
  pid_t child = fork();
  must(child >= 0);
  if (child == 0) {
    run2(locked, locked);
    must(data == 2);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  invisible_signal(1);
  pthread_join(other, 0);
  must(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
