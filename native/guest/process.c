#define _GNU_SOURCE
#include "guest.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

static void close_end(int *end) {
  if (*end >= 0) close(*end);
  *end = -1;
}

void pipes_close_far(struct pipes *p) { close_end(&p->in[0]), close_end(&p->out[1]), close_end(&p->err[1]); }

void pipes_close(struct pipes *p) {
  pipes_close_far(p);
  close_end(&p->in[1]), close_end(&p->out[0]), close_end(&p->err[0]);
}

static bool make_pipes(struct pipes *p, bool with_input) {
  *p = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
  if (with_input && pipe2(p->in, O_CLOEXEC) < 0) return false;
  return pipe2(p->out, O_CLOEXEC) == 0 && pipe2(p->err, O_CLOEXEC) == 0;
}

/* They are the user's: /dev/stdin, /dev/stdout and /dev/stderr open them anew, which the user must be allowed to. */
bool pipes_open(struct pipes *p, bool with_input) {
  if (!privilege_borrow_user()) return false;
  bool made = make_pipes(p, with_input);
  privilege_return_user();
  return made;
}

struct start_io pipes_io(const struct pipes *p, int channel) {
  return (struct start_io){p->in[0] < 0 ? NOTHING : p->in[0], p->out[1], p->err[1], channel, NULL};
}

static void follow_pipes(struct stream *s, const struct pipes *p) {
  s->in.fd = p->in[1];
  s->out[0].fd = p->out[0];
  s->out[1].fd = p->err[0];
  s->in.wanted = s->in.fd >= 0;
  if (s->in.wanted) {
    fcntl(s->in.fd, F_SETFL, O_NONBLOCK);
    poll_add(s->in.fd, 0, POLL_INPUT, s->slot);
  }
  poll_add(s->out[0].fd, EPOLLIN, POLL_OUTPUT, s->slot);
  poll_add(s->out[1].fd, EPOLLIN, POLL_ERROR, s->slot);
  s->out[0].armed = s->out[1].armed = true;
}

static bool begin(struct stream *s, const struct spec *spec, struct start_io io) {
  struct start *start = start_program(spec, s->spec, RUN_GROUP + s->slot, io, &s->pid);
  if (!start) return false;
  s->spec = NULL; /* the newborn's now */
  run_begin(s, spec, start);
  return true;
}

static void start_on_terminal(struct stream *s, const struct spec *spec) {
  struct pty p;
  struct start_io io = {NOTHING, NOTHING, NOTHING, -1, &p};
  if (pty_open(&p, spec->terminal) && begin(s, spec, io)) return pty_follow(s, &p);
  int error = errno;
  pty_close(&p);
  stream_fail(s, error);
}

static void start_on_pipes(struct stream *s, const struct spec *spec) {
  struct pipes p;
  if (pipes_open(&p, spec->flags & FLAG_STDIN) && begin(s, spec, pipes_io(&p, -1))) {
    pipes_close_far(&p);
    return follow_pipes(s, &p);
  }
  int error = errno;
  pipes_close(&p);
  stream_fail(s, error);
}

void process_start(struct stream *s, const struct spec *spec) {
  struct pipes p;
  if (spec->argument_count == 0) return stream_fail(s, EINVAL);
  if (spec->terminal) return start_on_terminal(s, spec);
  if (!warm_start(s, spec, &p)) return start_on_pipes(s, spec);
  run_begin(s, spec, NULL);
  follow_pipes(s, &p);
}

void process_signal(struct stream *s, uint32_t mode, int number) {
  if (s->finished || (s->pid <= 0 && !s->run)) return;
  if (s->kind != KIND_PROCESS) {
    if (!s->reaped) kill(s->pid, SIGTERM);
  } else if (mode == SIGNAL_TREE) {
    run_end(s, EXIT_KILLED);
  } else if (s->pid == 0) {
    s->early_signal = number;
  } else if (number > 0 && number <= 64 && !s->reaped) {
    if (kill(-s->pid, number) < 0) kill(s->pid, number); /* a newborn that has no group yet */
  }
}
