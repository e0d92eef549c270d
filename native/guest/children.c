#define _GNU_SOURCE
#include "guest.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Every process of the sandbox is PID 1's to reap in the end. In portions: a storm of them must not keep the loop from
   the wire. */

enum { PORTION = 64 };

bool children_left, children_more;

static struct stream *stream_of(pid_t pid) {
  for (uint32_t i = 0; i < streams_end; i++)
    if (streams[i] && streams[i]->pid == pid && !streams[i]->reaped) return streams[i];
  return NULL;
}

static void worker_ended(struct stream *s, int status) {
  struct exit_record record = {.status = status};
  if (WIFEXITED(status) && WEXITSTATUS(status)) {
    record.status = WEXITSTATUS(status);
    record.flags = EXIT_NOT_STARTED;
  }
  stream_finish(s, &record);
}

/* An orphan's run is known by its group, which a zombie still shows. */
static struct stream *run_of_orphan(pid_t pid) {
  uint32_t slot = tree_slot(pid);
  return slot < STREAMS_MAX && streams[slot] && streams[slot]->run ? streams[slot] : NULL;
}

static bool reap_one(pid_t pid, struct stream *s) {
  int status;
  struct rusage use;
  struct stream *run = s ? s : run_of_orphan(pid);
  if (wait4(pid, &status, WNOHANG, &use) != pid) return false;
  if (run && run->run) run_account(run, &use);
  if (!s) {
    warm_ended(pid);
    return true;
  }
  s->reaped = true;
  if (s->run) run_main_ended(s, status);
  else worker_ended(s, status);
  return true;
}

/* Linux passes over what a terminal asks of the group of a session's leader, since no shell could let it go on; gVisor does not. */
static bool stopped_by_terminal(const struct stream *s, int number) {
  return s->terminal && (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU);
}

/* A newborn that user code stopped goes on; a worker that it stopped ends, and its call fails and does not hang. */
static void answer_stops(void) {
  for (int i = 0; i < PORTION; i++) {
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG) < 0 || info.si_pid == 0) return;
    struct stream *s = stream_of(info.si_pid);
    if (!s) continue;
    if (s->kind != KIND_PROCESS) kill(s->pid, SIGKILL);
    else if (run_is_newborn(s)) kill(s->pid, SIGCONT);
    else if (stopped_by_terminal(s, info.si_status)) kill(-s->pid, SIGCONT);
  }
  children_more = true;
}

static bool somebody_must_not_stop(void) {
  if (starts_under_way()) return true;
  for (uint32_t i = 0; i < streams_end; i++) {
    const struct stream *s = streams[i];
    if (s && (s->kind != KIND_PROCESS || s->terminal) && s->pid > 0 && !s->reaped) return true;
  }
  return false;
}

/* The hint is the process that the signal told of. */
void children_reap(pid_t hint) {
  struct stream *s = hint > 0 ? stream_of(hint) : NULL;
  children_more = false;
  if (s) reap_one(hint, s);
  for (int i = 0; i < PORTION; i++) {
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0) {
      children_left = false;
      return;
    }
    if (info.si_pid == 0) {
      if (somebody_must_not_stop()) answer_stops();
      return;
    }
    reap_one(info.si_pid, stream_of(info.si_pid));
  }
  children_more = true;
}
