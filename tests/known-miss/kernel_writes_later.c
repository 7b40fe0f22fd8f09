// An asynchronous read, queued in io_submit() by a raw system call, lets the kernel write the buffer while another thread
// reads it. The runtime knows the synchronous calls of libc only.
// tsan: misses (raw system calls are not seen)
#include "two_threads.h"
#include <linux/aio_abi.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

char buffer[4096];
int memfd_create(const char *name, unsigned flags);

static void *looker(void *arg) {
  invisible_use(buffer[0]); // RACE a
  invisible_signal(1);
  return arg;
}

static void *submitter(void *arg) {
  aio_context_t context = 0;
  struct iocb request, *list = &request;
  struct io_event event;
  int file = memfd_create("source", 0);
  must(ftruncate(file, 4096) == 0);
  must(syscall(SYS_io_setup, 1, &context) == 0);
  memset(&request, 0, sizeof request);
  request.aio_fildes = file;
  request.aio_lio_opcode = IOCB_CMD_PREAD;
  request.aio_buf = (unsigned long)buffer;
  request.aio_nbytes = sizeof buffer;
  invisible_wait(1);
  must(syscall(SYS_io_submit, context, 1, &list) == 1); // RACE a
  must(syscall(SYS_io_getevents, context, 1, 1, &event, 0) == 1);
  return arg;
}

int main(void) { run2(looker, submitter); }
