#define _GNU_SOURCE
#include "tunnel.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* TCP connections of programs inside, as streams. What they carry is the owner's to judge: nothing is looked at here, and
   nothing leaves but over the wire (S4). */

static bool still; /* no socket is looked at */

void tunnel_watch(struct stream *s, uint32_t events) {
  s->interest = events;
  if (!still) poll_add(s->socket, events, POLL_TUNNEL, s->slot);
}

void tunnel_interest(struct stream *s, uint32_t events) {
  if (s->interest != events && !still) poll_change(s->socket, events, POLL_TUNNEL, s->slot);
  s->interest = events;
}

/* gVisor cannot save a socket that somebody waits for by epoll: while the clocks stand still nobody does. */
void tunnels_pause(bool paused) {
  if (paused == still) return;
  for (uint32_t i = STREAMS_MAX; i < tunnels_end; i++) {
    struct stream *s = streams[i];
    if (!s || s->socket < 0) continue;
    if (paused) poll_remove(s->socket);
    else poll_add(s->socket, s->interest, POLL_TUNNEL, s->slot);
  }
  still = paused;
}

void tunnel_connected(struct stream *s, int fd) {
  int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  s->socket = s->in.fd = s->out[0].fd = fd;
  s->in.wanted = s->out[0].unblocked = s->out[0].armed = s->started = true;
  tunnel_watch(s, EPOLLIN);
}

static void end(struct stream *s, const struct exit_record *record) {
  s->in.fd = -1; /* no end of file before a reset */
  stream_input_stop(s);
  stream_output_stop(s);
  if (s->socket >= 0) poll_close(s->socket);
  s->socket = -1;
  stream_finish(s, record);
}

static void end_with(struct stream *s, int error) {
  struct exit_record record = {.status = error, .flags = error ? EXIT_NOT_STARTED : 0};
  end(s, &record);
}

static bool carries(const struct stream *s) { return is_tunnel(s->kind) && s->started && s->socket >= 0 && s->in.wanted; }

/* It ends when both sides have; one that was reset has nothing left to take either. */
void tunnel_settle(struct stream *s) {
  if (!carries(s)) return;
  if (s->exit.status) stream_input_stop(s);
  if (s->in.fd < 0 && s->out[0].fd < 0) {
    struct exit_record record = s->exit;
    return end(s, &record);
  }
  tunnel_interest(s, (s->out[0].fd >= 0 && s->out[0].armed ? EPOLLIN : 0) | (s->in.fd >= 0 && s->in.armed ? EPOLLOUT : 0));
}

/* ---- towards a program ---- */

/* Programs listen on either. */
static int connect_to(uint16_t port, bool v6) {
  struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if ((v6 ? connect(fd, (struct sockaddr *)&six, sizeof six) : connect(fd, (struct sockaddr *)&four, sizeof four)) == 0 ||
      errno == EINPROGRESS)
    return fd;
  int error = errno;
  close(fd);
  return errno = error, -1;
}

static void dial_next(struct stream *s, bool v6, int why) {
  int fd = connect_to((uint16_t)s->spot, v6);
  if (fd < 0 && !v6) return dial_next(s, true, errno);
  if (fd < 0) return end_with(s, why);
  s->socket = fd;
  s->dialing = true;
  s->listener = v6; /* what is tried */
  tunnel_watch(s, EPOLLOUT);
}

/* Never where the guest itself listens: there is the way out of the sandbox, not a program of it (hazard 17). */
static void dial_start(struct stream *s, const struct spec *spec) {
  if (spec->spot == 0 || spec->spot > UINT16_MAX) return stream_fail(s, EINVAL);
  if (listen_holds((uint16_t)spec->spot)) return stream_fail(s, EACCES);
  s->spot = spec->spot;
  dial_next(s, false, 0);
}

static void dial_event(struct stream *s) {
  int error = 0, fd = s->socket;
  socklen_t size = sizeof error;
  bool v6 = s->listener;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0) error = errno;
  if (!still) poll_remove(fd);
  s->dialing = false;
  s->socket = -1;
  s->listener = 0;
  if (!error) {
    s->spot |= (uint64_t)(v6 ? 0 : INADDR_LOOPBACK) << 16;
    return tunnel_connected(s, fd);
  }
  close(fd);
  if (v6) end_with(s, error);
  else dial_next(s, true, error);
}

/* ---- all of them ---- */

void tunnel_start(struct stream *s, const struct spec *spec) {
  switch ((enum stream_kind)s->kind) {
    case KIND_LISTEN: return listen_start(s, spec);
    case KIND_ACCEPT: return listen_wait(s);
    case KIND_DIAL: return dial_start(s, spec);
    case KIND_DATAGRAMS: return datagrams_start(s, spec);
    default: return stream_fail(s, EINVAL);
  }
}

void tunnel_event(struct stream *s, uint32_t events) {
  if (s->socket < 0) return; /* a frame of the same turn has ended it */
  if (s->kind == KIND_LISTEN) return listen_event(s);
  if (s->kind == KIND_DATAGRAMS) return datagrams_event(s);
  if (s->dialing) return dial_event(s);
  if (!carries(s)) return;
  if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) stream_pump_input(s);
  if (s->out[0].armed) stream_pump_output(s, 0);
  if (events & (EPOLLERR | EPOLLHUP) && s->out[0].fd < 0) stream_input_stop(s); /* nobody is left to take it */
  tunnel_settle(s);
}

/* The program at the other end finds its connection reset. */
void tunnel_drop(struct stream *s) {
  struct linger at_once = {1, 0};
  if (s->waiting) listen_forget(s);
  if (s->finished) return;
  if (s->in.wanted && s->socket >= 0) setsockopt(s->socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  end_with(s, ECANCELED);
}

/* Listeners are for the next owner: nobody else can take their place between two. Connections are not: what of them was
   under way is known to nobody. */
void tunnel_resync(struct stream *s) {
  if (s->kind == KIND_LISTEN) return;
  if (s->kind == KIND_DATAGRAMS) {
    s->out[0].acked = s->out[0].tail;
    return;
  }
  s->closing = true;
  tunnel_drop(s);
}
