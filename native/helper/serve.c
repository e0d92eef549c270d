/*
 * The resident loop, one process an owner. Requests come on stdin (u32 length, then the strings), each verb that may
 * wait runs in a forked child, replies and events go to stdout. EOF on stdin means that the owner is gone: leaving
 * releases every lock.
 */
#include "helper.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

struct job {
  int fd;
  pid_t pid;
  uid_t base;
  char seq[32];
  char id[ID_BYTES_MAX];
  bool resident; /* goes on after its reply; its end is that of the pipe */
  size_t length;
  char line[REPLY_BYTES_MAX];
};
static struct job *jobs[JOBS_MAX];
static struct request request;

enum { LINE_BYTES = 512 };

static void say(const char *line) {
  char whole[LINE_BYTES + 1];
  int length = snprintf(whole, sizeof whole, "%.*s\n", LINE_BYTES - 1, line);
  write_whole(STDOUT_FILENO, whole, (size_t)length);
}

static void say_error(const char *seq, int error, const char *text) {
  char line[LINE_BYTES];
  reply_format_error(line, sizeof line, seq, error, text);
  say(line);
}

static void say_result(const char *seq, int error, const char *text) {
  char line[64];
  if (error != 0) {
    say_error(seq, error, text);
    return;
  }
  snprintf(line, sizeof line, "%s ok", seq);
  say(line);
}

static struct job **free_slot(void) {
  for (size_t i = 0; i < JOBS_MAX; i++)
    if (jobs[i] == NULL) return &jobs[i];
  return NULL;
}

/* Zero where the verb has none. */
static uid_t base_of_request(void) {
  const char *base = request_find(&request, "base");
  return base == NULL ? 0 : (uid_t)strtoul(base, NULL, 10);
}

static NORETURN void run_child(void (*verb)(const struct request *), int reply_fd) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  die_with_parent();
  reply_to(reply_fd, request.seq);
  verb(&request);
  _exit(1);
}

static void start_job(void (*verb)(const struct request *), bool resident) {
  int ends[2];
  struct job **slot = free_slot();
  const char *id = request_find(&request, "id");
  if (slot == NULL || id == NULL || strlen(id) >= ID_BYTES_MAX || strlen(request.seq) >= sizeof(*slot)->seq) {
    say_error(request.seq, slot == NULL ? EAGAIN : EINVAL, "the helper cannot take this request");
    return;
  }
  if (pipe2(ends, O_CLOEXEC) != 0) {
    say_error(request.seq, errno, "no pipe for the reply");
    return;
  }
  bool added = loop_add(ends[0], SOURCE_JOB, (unsigned)(slot - jobs));
  pid_t pid = added ? fork() : -1;
  if (pid == 0) run_child(verb, ends[1]);
  int error = errno;
  close(ends[1]);
  struct job *job = calloc(1, sizeof *job);
  if (pid < 0 || job == NULL) {
    say_error(request.seq, error, added ? "cannot fork" : "cannot wait for the reply");
    loop_close(ends[0]);
    free(job);
    return;
  }
  job->fd = ends[0];
  job->pid = pid;
  job->base = base_of_request();
  job->resident = resident;
  snprintf(job->seq, sizeof job->seq, "%s", request.seq);
  snprintf(job->id, sizeof job->id, "%s", id);
  *slot = job;
}

static void start_launch(void) {
  const char *runtime = request_find(&request, "runtime");
  if (runtime != NULL && request_find(&request, "sealed") != NULL) sealed_prepare(runtime);
  start_job(verb_launch, false);
}

static void start_layer_mount(const char *folder) {
  int error = layers_prepare(folder);
  if (error != 0) return say_error(request.seq, error, "cannot make a place for layers");
  start_job(verb_layer_mount, false);
}

/* A child costs more than all that most runs do: it is for workspaces that hold something. */
static void start_changes(void) {
  char line[96];
  if (!workspace_still_empty(&request)) return start_job(verb_changes, false);
  snprintf(line, sizeof line, "%.32s ok changes=0 truncated=0 same=1", request.seq);
  say(line);
}

static void start_checkpoint(void) {
  const char *memory = request_find(&request, "memory");
  int error = memory == NULL ? EINVAL : memory_hold(memory);
  if (error != 0) return say_result(request.seq, error, "memory");
  start_job(verb_checkpoint, false);
}

/* For the owner to fill, who may open it by this process's number of it. */
static void hold_memory(void) {
  char line[128];
  const char *memory = request_find(&request, "memory");
  int error = memory == NULL ? EINVAL : memory_hold(memory);
  if (error != 0) return say_result(request.seq, error, "memory");
  char *places = memory_places(memory);
  snprintf(line, sizeof line, "%s ok %s", request.seq, places);
  free(places);
  say(line);
}

/* A process that a job started is watched before the owner hears of it: its end is never missed. */
static void end_job(struct job *job) {
  job->line[job->length] = '\0';
  int pid = 0;
  bool whole = job->length > 0 && job->line[job->length - 1] == '\n';
  if (whole && sscanf(job->line, "%*s ok pid=%d", &pid) == 1) watch_add(job->id, (pid_t)pid, job->base);
  if (whole)
    write_whole(STDOUT_FILENO, job->line, job->length);
  else
    say_error(job->seq, EIO, "the verb ended without a reply");
  loop_close(job->fd);
  free(job);
}

/* The reply is one line; what the child still does after it, leaving its mounts for instance, nobody waits for. */
static void read_job(struct job **slot) {
  struct job *job = *slot;
  ssize_t got = read(job->fd, job->line + job->length, sizeof job->line - 1 - job->length);
  if (got < 0 && errno == EINTR) return;
  if (got > 0) {
    job->length += (size_t)got;
    if (job->line[job->length - 1] != '\n') return;
    if (job->resident) {
      write_whole(STDOUT_FILENO, job->line, job->length);
      job->length = 0;
      job->seq[0] = '\0'; /* answered */
      return;
    }
  }
  *slot = NULL;
  if (job->resident && job->seq[0] == '\0') {
    loop_close(job->fd);
    free(job);
    return;
  }
  end_job(job);
}

/* The owner takes the sandbox away: what is still being done for it is not wanted any more. */
static void cancel_jobs(const char *id) {
  for (size_t i = 0; i < JOBS_MAX; i++)
    if (jobs[i] != NULL && strcmp(jobs[i]->id, id) == 0) kill(jobs[i]->pid, SIGKILL);
  say_result(request.seq, 0, "");
}

static void watch_or_unwatch(const char *id) {
  const char *pid = request_find(&request, "pid");
  say_result(request.seq, 0, "");
  if (pid != NULL)
    watch_add(id, (pid_t)atoi(pid), base_of_request());
  else
    watch_remove(id);
}

static void dispatch(char *bytes, size_t length) {
  if (!request_parse(&request, bytes, length)) {
    say_error("0", EINVAL, "the request cannot be read");
    return;
  }
  const char *verb = request.verb;
  const char *folder = request_find(&request, "folder");
  const char *id = request_find(&request, "id");
  if (strcmp(verb, "launch") == 0) return start_launch();
  if (strcmp(verb, "checkpoint") == 0) return start_checkpoint();
  if (strcmp(verb, "hold") == 0) return hold_memory();
  if (strcmp(verb, "forget") == 0) {
    const char *memory = request_find(&request, "memory");
    return say_result(request.seq, memory == NULL ? EINVAL : memory_forget(memory), "forget");
  }
  if (strcmp(verb, "changes") == 0) return start_changes();
  if (strcmp(verb, "output") == 0) return start_job(verb_output, false);
  if (strcmp(verb, "remove") == 0) return start_job(verb_remove, false);
  if (strcmp(verb, "follow") == 0) return start_job(verb_follow, true);
  if (strcmp(verb, "freeze") == 0) return start_job(verb_freeze, false);
  if (strcmp(verb, "layer-mount") == 0 && folder != NULL) return start_layer_mount(folder);
  if (strcmp(verb, "layer-unmount") == 0) return start_job(verb_layer_unmount, false);
  if (strcmp(verb, "layer-digest") == 0) return start_job(verb_layer_digest, false);
  if (strcmp(verb, "cancel") == 0 && id != NULL) return cancel_jobs(id);
  if (strcmp(verb, "watch") == 0 && id != NULL) return watch_or_unwatch(id);
  if (strcmp(verb, "claim") == 0 && folder != NULL) return say_result(request.seq, lock_claim(folder), "claim");
  if (strcmp(verb, "lock") == 0 && folder != NULL) return say_result(request.seq, lock_take(folder), "lock");
  if (strcmp(verb, "unlock") == 0 && folder != NULL) {
    lock_release(folder);
    return say_result(request.seq, 0, "");
  }
  say_error(request.seq, ENOSYS, "there is no such verb");
}

/* False at EOF: the owner has closed its end, or died. */
static bool read_request(void) {
  static char bytes[REQUEST_BYTES_MAX];
  uint8_t head[4];
  if (read_whole(STDIN_FILENO, head, sizeof head) != sizeof head) return false;
  size_t length = head[0] | head[1] << 8 | head[2] << 16 | (size_t)head[3] << 24;
  if (length > sizeof bytes || read_whole(STDIN_FILENO, bytes, length) != (ssize_t)length) return false;
  dispatch(bytes, length);
  return true;
}

static int prepare(void) {
  sigset_t children;
  setsid();
  umask(0);
  signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_DUMPABLE, 0);
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, NULL);
  return signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void reap(int children) {
  struct signalfd_siginfo info;
  if (read(children, &info, sizeof info) > 0) watch_reap();
}

int serve(void) {
  int children = prepare();
  if (children < 0 || !loop_open() || !loop_add(children, SOURCE_CHILDREN, 0)) return 1;
  if (!loop_add(STDIN_FILENO, SOURCE_REQUEST, 0)) return 1;
  for (bool more = true; more;) {
    struct ready list[READY_MAX];
    int count = loop_wait(list, watch_needs_tick() ? 200 : -1);
    if (count < 0) return 1;
    for (enum source source = 0; source < SOURCES; source++)
      for (int i = 0; i < count; i++) {
        if (list[i].source != source) continue;
        if (source == SOURCE_CHILDREN) reap(children);
        if (source == SOURCE_JOB) read_job(&jobs[list[i].number]);
        if (source == SOURCE_WATCH) watch_ready((pid_t)list[i].number);
        if (source == SOURCE_REQUEST) more = read_request();
      }
    watch_tick();
  }
  layers_close();
  return 0;
}
