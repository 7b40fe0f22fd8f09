// sigwait(): the signal is taken synchronously; the data was handed over by a semaphore before it was sent.
#include "two_threads.h"
#include <semaphore.h>
#include <signal.h>

int data;
sem_t ready;
sigset_t set;

static void *sender(void *arg) {
  data = 1;
  sem_post(&ready);
  pthread_kill(*(pthread_t *)arg, SIGUSR1);
  return 0;
}

int main(void) {
  pthread_t self = pthread_self(), thread;
  sem_init(&ready, 0, 0);
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, 0);
  must(pthread_create(&thread, 0, sender, &self) == 0);
  int number;
  must(sigwait(&set, &number) == 0 && number == SIGUSR1);
  sem_wait(&ready);
  data = 2;
  pthread_join(thread, 0);
}
