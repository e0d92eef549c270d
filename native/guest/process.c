#define _GNU_SOURCE
#include "guest.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

struct pipes {
  int in[2], out[2], err[2];
};

static void close_pair(int pair[2]) {
  for (int i = 0; i < 2; i++)
    if (pair[i] >= 0) close(pair[i]);
}

static bool open_pipes(struct pipes *p, bool with_input) {
  *p = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
  if (with_input && pipe2(p->in, O_CLOEXEC) < 0) return false;
  return pipe2(p->out, O_CLOEXEC) == 0 && pipe2(p->err, O_CLOEXEC) == 0;
}

static void follow_pipe(int fd, enum poll_tag tag, struct stream *s) {
  fcntl(fd, F_SETFL, O_NONBLOCK);
  poll_add(fd, tag == POLL_INPUT ? 0 : EPOLLIN, tag, s->slot);
}

void process_start(struct stream *s, struct spec *spec) {
  struct pipes p;
  if (spec->argument_count == 0) return stream_fail(s, EINVAL);
  struct start *start = NULL;
  if (open_pipes(&p, spec->flags & FLAG_STDIN))
    start = start_program(spec, s->spec, RUN_GROUP + s->slot, p.in[0] < 0 ? NOTHING : p.in[0], p.out[1], p.err[1], &s->pid);
  if (!start) {
    int error = errno;
    close_pair(p.in), close_pair(p.out), close_pair(p.err);
    return stream_fail(s, error);
  }
  s->spec = NULL;
  children_left = true;
  run_begin(s, spec, start);
  if (p.in[0] >= 0) close(p.in[0]);
  close(p.out[1]), close(p.err[1]);
  s->in.fd = p.in[1];
  s->out[0].fd = p.out[0];
  s->out[1].fd = p.err[0];
  s->in.wanted = s->in.fd >= 0;
  if (s->in.wanted) follow_pipe(s->in.fd, POLL_INPUT, s);
  follow_pipe(s->out[0].fd, POLL_OUTPUT, s);
  follow_pipe(s->out[1].fd, POLL_ERROR, s);
  s->out[0].armed = s->out[1].armed = true;
}

void process_signal(struct stream *s, uint32_t mode, int number) {
  if (s->finished || s->pid <= 0) return;
  if (s->kind != KIND_PROCESS) {
    if (!s->reaped) kill(s->pid, SIGTERM);
  } else if (mode == SIGNAL_TREE) {
    run_end(s, EXIT_KILLED);
  } else if (number > 0 && number <= 64 && !s->reaped) {
    if (kill(-s->pid, number) < 0) kill(s->pid, number); /* a newborn that has no group yet */
  }
}
