/* The network of a sandbox, played: every socket of the guest's is one end of a pair, and the program at the other end does what
   an input says. Nothing is bound or reached on the machine that looks for inputs. */
#define _GNU_SOURCE
#include "network.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"

enum { SOCKETS_MAX = 8192 };

static int far_ends[SOCKETS_MAX]; /* plus one, by the guest's end */
static unsigned callers;          /* that wait to be accepted */

static int pair(int type) {
  int ends[2];
  if (socketpair(AF_UNIX, type, 0, ends) < 0) exit(2);
  if (ends[0] >= SOCKETS_MAX) exit(2);
  int far = fcntl(ends[1], F_DUPFD, 1100); /* out of the way of the guest's own numbers */
  if (far < 0) exit(2);
  close(ends[1]);
  if (far_ends[ends[0]]) close(far_ends[ends[0]] - 1);
  far_ends[ends[0]] = far + 1;
  return ends[0];
}

int __wrap_socket(int domain, int type, int protocol) {
  (void)domain, (void)protocol;
  return pair(type);
}

int __wrap_bind(int fd, const struct sockaddr *at, socklen_t size) {
  (void)at, (void)size;
  expect(fcntl(fd, F_GETFD) >= 0, "only open sockets are bound");
  return 0;
}

int __wrap_listen(int fd, int backlog) {
  (void)fd;
  expect(backlog > 0, "connections wait to be accepted");
  return 0;
}

int __wrap_accept4(int fd, struct sockaddr *at, socklen_t *size, int flags) {
  (void)at, (void)size;
  expect(fcntl(fd, F_GETFD) >= 0, "only open sockets accept");
  if (callers == 0) return errno = EAGAIN, -1;
  callers--;
  return pair(SOCK_STREAM | flags);
}

int __wrap_connect(int fd, const struct sockaddr *at, socklen_t size) {
  (void)fd, (void)size;
  return at->sa_family == AF_INET6 ? (errno = ECONNREFUSED, -1) : 0;
}

int far_end(int fd) { return fd < 0 || fd >= SOCKETS_MAX ? -1 : far_ends[fd] - 1; }

void far_hang_up(int fd) {
  if (far_end(fd) < 0) return;
  close(far_end(fd));
  far_ends[fd] = 0;
}

void call_in(void) {
  if (callers < 64) callers++;
}
