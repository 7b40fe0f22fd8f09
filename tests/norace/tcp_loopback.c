// A TCP connection within the process hands the data over.
#include "two_threads.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

int listener, client;
int data;

static void *first(void *arg) {
  data = 1;
  must(send(client, "x", 1, 0) == 1);
  invisible_signal(1);
  return arg;
}

static void *second(void *arg) {
  invisible_wait(1);
  int server = accept(listener, 0, 0);
  char byte;
  must(recv(server, &byte, 1, 0) == 1);
  data = 2;
  return arg;
}

int main(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  listener = socket(AF_INET, SOCK_STREAM, 0);
  must(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
  must(listen(listener, 1) == 0);
  must(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
  client = socket(AF_INET, SOCK_STREAM, 0);
  must(connect(client, (struct sockaddr *)&address, sizeof address) == 0);
  run2(first, second);
}
