#define _GNU_SOURCE
#include "tunnel.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Listeners that the owner asked for, and the streams that it holds ready for connections: one that comes is bound to the
   next of them. Where none waits, connections wait in the kernel. */

static struct stream *first_waiting, *last_waiting;
static bool resting; /* some listener is not looked at */

static void rest(struct stream *s) {
  if (!s->interest) return;
  tunnel_interest(s, 0);
  resting = true;
}

void listeners_again(void) {
  if (!resting || !first_waiting) return;
  resting = false;
  for (uint32_t i = STREAMS_MAX; i < tunnels_end; i++)
    if (streams[i] && streams[i]->kind == KIND_LISTEN && streams[i]->socket >= 0) tunnel_interest(streams[i], EPOLLIN);
}

/* Not even the guest can bind the same place twice, and so no program can bind it on top: neither SO_REUSEADDR nor
   SO_REUSEPORT is set, ever (hazard 16). */
void bind_spot(struct stream *s, const struct spec *spec, int type) {
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)spec->spot),
                           .sin_addr.s_addr = htonl((uint32_t)(spec->spot >> 16))};
  if ((uint16_t)spec->spot == 0 || spec->spot >> 48) return stream_fail(s, EINVAL);
  int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return stream_fail(s, errno);
  if (bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || (type == SOCK_STREAM && listen(fd, BACKLOG) < 0)) {
    int error = errno;
    close(fd);
    return stream_fail(s, error);
  }
  s->socket = fd;
  s->spot = spec->spot;
  s->started = true;
  tunnel_watch(s, EPOLLIN);
}

void listen_start(struct stream *s, const struct spec *spec) { bind_spot(s, spec, SOCK_STREAM); }

void listen_wait(struct stream *s) {
  s->waiting = true;
  if (last_waiting) last_waiting->next_waiting = s;
  else first_waiting = s;
  last_waiting = s;
  listeners_again();
}

void listen_forget(struct stream *s) {
  struct stream *before = NULL;
  for (struct stream *at = first_waiting; at && at != s; at = at->next_waiting) before = at;
  if (before) before->next_waiting = s->next_waiting;
  else first_waiting = s->next_waiting;
  if (last_waiting == s) last_waiting = before;
  s->next_waiting = NULL;
  s->waiting = false;
}

/* A listener on all addresses tells each connection's own. */
static uint64_t spot_of(int fd, const struct stream *listener) {
  struct sockaddr_in at;
  socklen_t size = sizeof at;
  if (listener->spot >> 16) return listener->spot;
  if (getsockname(fd, (struct sockaddr *)&at, &size) < 0) return listener->spot;
  return (uint64_t)ntohl(at.sin_addr.s_addr) << 16 | ntohs(at.sin_port);
}

void listen_event(struct stream *listener) {
  while (first_waiting) {
    int fd = accept4(listener->socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (fd < 0 && errno == EAGAIN) return;
    if (fd < 0) break; /* no descriptor is free: looked at again when one is */
    struct stream *s = first_waiting;
    listen_forget(s);
    s->spot = spot_of(fd, listener);
    s->listener = listener->id;
    tunnel_connected(s, fd);
  }
  rest(listener);
}

bool listen_holds(uint16_t port) {
  for (uint32_t i = STREAMS_MAX; i < tunnels_end; i++)
    if (streams[i] && streams[i]->kind == KIND_LISTEN && streams[i]->socket >= 0 && (uint16_t)streams[i]->spot == port)
      return true;
  return false;
}
