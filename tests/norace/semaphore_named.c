// A semaphore with a name, opened twice, is one semaphore.
#include "two_threads.h"
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

sem_t *left, *right;
int data;

static void *first(void *arg) {
  data = 1;
  sem_post(left);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  sem_wait(right);
  data = 2;
  return arg;
}

int main(void) {
  char name[32];
  snprintf(name, sizeof name, "/footrace-%d", getpid());
  left = sem_open(name, O_CREAT, 0600, 0);
  right = sem_open(name, 0);
  must(left != SEM_FAILED && right != SEM_FAILED);
  sem_unlink(name);
  run2(first, second);
}
