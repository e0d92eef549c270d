#define _GNU_SOURCE
#include "guest.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

struct pipes {
  int in[2], out[2], err[2], status[2];
};

static void close_pair(int pair[2]) {
  for (int i = 0; i < 2; i++)
    if (pair[i] >= 0) close(pair[i]);
}

static bool open_pipes(struct pipes *p, bool with_input) {
  *p = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
  if (with_input) {
    if (pipe2(p->in, O_CLOEXEC) < 0) return false;
  } else if ((p->in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0) {
    return false;
  }
  return pipe2(p->out, O_CLOEXEC) == 0 && pipe2(p->err, O_CLOEXEC) == 0 && pipe2(p->status, O_CLOEXEC) == 0;
}

/* The supervisor keeps four descriptors and nothing else of the guest's: not the wire, not another run's pipes. */
static _Noreturn void become_supervisor(const struct pipes *p, const struct spec *spec, gid_t group) {
  int keep[4] = {p->in[0], p->out[1], p->err[1], p->status[1]};
  for (int i = 0; i < 4; i++)
    if ((keep[i] = fcntl(keep[i], F_DUPFD_CLOEXEC, 1024)) < 0) _exit(71);
  for (int i = 0; i < 4; i++)
    if (dup3(keep[i], 3 + i, O_CLOEXEC) < 0) _exit(71);
  close_all_from(7);
  close(WIRE_IN);
  close(WIRE_OUT);
  supervise(spec, group, 3, 4, 5, 6);
}

static void follow_pipe(int fd, enum poll_tag tag, struct stream *s) {
  fcntl(fd, F_SETFL, O_NONBLOCK);
  poll_add(fd, tag == POLL_INPUT ? 0 : EPOLLIN, tag, stream_slot(s));
}

void process_start(struct stream *s, struct spec *spec) {
  struct pipes p;
  if (spec->argument_count == 0) return stream_fail(s, EINVAL);
  pid_t pid = -1;
  int error = 0;
  if (!open_pipes(&p, spec->flags & FLAG_STDIN) || (pid = fork()) < 0) error = errno;
  if (pid == 0) become_supervisor(&p, spec, RUN_GROUP + stream_slot(s));
  if (pid < 0) {
    close_pair(p.in), close_pair(p.out), close_pair(p.err), close_pair(p.status);
    return stream_fail(s, error);
  }
  close(p.in[0]), close(p.out[1]), close(p.err[1]), close(p.status[1]);
  s->pid = pid;
  s->in.fd = p.in[1];
  s->out[0].fd = p.out[0];
  s->out[1].fd = p.err[0];
  s->status_fd = p.status[0];
  s->in.wanted = s->in.fd >= 0;
  if (s->in.wanted) follow_pipe(s->in.fd, POLL_INPUT, s);
  follow_pipe(s->out[0].fd, POLL_OUTPUT, s);
  follow_pipe(s->out[1].fd, POLL_ERROR, s);
  follow_pipe(s->status_fd, POLL_STATUS, s);
  s->out[0].armed = s->out[1].armed = true;
}

void process_status(struct stream *s) {
  if (s->status_fd < 0 || s->finished) return;
  struct status_record record;
  ssize_t size;
  while ((size = read(s->status_fd, &record, sizeof record)) == sizeof record) {
    if (record.kind == RECORD_STARTED) {
      s->main_pid = record.pid;
      s->started = true;
    } else {
      stream_finish(s, &record.exit);
      return;
    }
  }
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  errno = ECHILD; /* the supervisor ended without a last word: it lost the race against its tree, or was killed */
  die("run could not be ended");
}

void process_signal(struct stream *s, uint32_t mode, int number) {
  if (s->pid <= 0 || s->reaped) return;
  if (s->kind != KIND_PROCESS || mode == SIGNAL_TREE) {
    kill(s->pid, SIGTERM);
  } else if (number > 0 && number <= 64) {
    sigqueue(s->pid, SIGRTMIN, (union sigval){.sival_int = number});
  }
}

void process_kill_biggest(void) {
  struct stream *biggest = NULL;
  uint64_t most = 0;
  for (uint32_t i = 0; i < STREAMS_MAX; i++) {
    struct stream *s = streams[i];
    if (!s || s->kind != KIND_PROCESS || s->finished || s->pid <= 0) continue;
    uint64_t rss = tree_visit(RUN_GROUP + i, 0, false).rss_bytes;
    if (!biggest || rss > most) biggest = s, most = rss;
  }
  if (biggest) kill(biggest->pid, SIGUSR1);
}
