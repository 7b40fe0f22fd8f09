// Signals without a handler end a process at once, and what the program asks the kernel about them is answered as if nobody were watching.
#define _GNU_SOURCE
#include "two_threads.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *nothing(void *arg) { return arg; }

static void handler(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info, (void)context;
}

// A handler comes and goes: the default action is the default action again.
static void restored(int signal) {
  struct sigaction action, before;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  must(sigaction(signal, &action, &before) == 0);
  must(before.sa_handler == SIG_DFL && !(before.sa_flags & SA_SIGINFO));
  must(sigaction(signal, &before, 0) == 0);
  must(sigaction(signal, 0, &before) == 0);
  must(before.sa_handler == SIG_DFL && !(before.sa_flags & SA_SIGINFO));
}

static void taken(int signal) { (void)signal; }

// System V's way to say it, with the mask in the same call.
static void held(int signal) {
  must(sigset(signal, SIG_HOLD) == SIG_DFL);
  raise(signal);
  must(sigset(signal, SIG_HOLD) == SIG_HOLD);
  must(sigset(signal, taken) == SIG_HOLD);
  must(sigset(signal, SIG_DFL) == taken);
  must(sigignore(signal) == 0);
  raise(signal);
  must(sigset(signal, SIG_DFL) == SIG_IGN);
  must(sigset(1000, SIG_DFL) == SIG_ERR);
}

static void trap(void) { __asm__ volatile("int3"); }
static void touch(void) { __asm__ volatile("movl $1, (%0)" : : "r"(0L) : "memory"); }
static void stop(void) { abort(); }
// The signal is blocked but for one call.
static void wait_for_it(void) {
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &all, 0);
  kill(getpid(), SIGTERM);
  sigsuspend(&none);
}
static void ignored(void) {
  signal(SIGUSR1, SIG_IGN);
  raise(SIGUSR1);
  raise(SIGUSR2);
}
static void released(void) {
  sigset(SIGALRM, SIG_HOLD);
  raise(SIGALRM);
  sigset(SIGALRM, SIG_DFL);
}
// A handler that is used once.
static void again(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESETHAND;
  sigaction(SIGHUP, &action, 0);
  raise(SIGHUP);
  raise(SIGHUP);
}

static void dies(void (*how)(void), int signal) {
  pid_t child = fork();
  if (child == 0) {
    run2(nothing, nothing);
    how();
    _exit(0);
  }
  int status;
  must(waitpid(child, &status, 0) == child);
  must(WIFSIGNALED(status) && WTERMSIG(status) == signal);
}

int main(void) {
  run2(nothing, nothing);
  restored(SIGSEGV);
  restored(SIGTERM);
  held(SIGTERM);
  dies(trap, SIGTRAP);
  dies(touch, SIGSEGV);
  dies(stop, SIGABRT);
  dies(wait_for_it, SIGTERM);
  dies(ignored, SIGUSR2);
  dies(again, SIGHUP);
  dies(released, SIGALRM);
  return 0;
}
