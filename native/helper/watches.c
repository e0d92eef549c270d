/*
 * The resident process is the subreaper of what it starts, so it learns how a sandbox ended; a sandbox that an earlier
 * owner started is watched by pidfd, or by its start time where the kernel has none.
 */
#include "helper.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct watch {
  char id[ID_BYTES_MAX];
  pid_t pid;
  int pidfd;
  unsigned long long started;
  struct watch *next;
};
static struct watch *all;
static size_t without_pidfd;

/* Children that ended before anyone asked to watch them. */
enum { ENDED_MAX = 256 };
static struct {
  pid_t pid;
  int status;
} ended[ENDED_MAX];
static size_t ended_next;

static unsigned long long start_time(pid_t pid) {
  char path[64], bytes[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t length = read_whole(fd, bytes, sizeof bytes - 1);
  close(fd);
  if (length <= 0) return 0;
  bytes[length] = '\0';
  char *at = strrchr(bytes, ')');
  unsigned long long started = 0;
  char state = 'X';
  if (at == NULL) return 0;
  if (sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &state,
             &started) != 2)
    return 0;
  return state == 'Z' || state == 'X' ? 0 : started;
}

static void say_ended(const char *id, const int *status) {
  char line[256];
  int length;
  if (status == NULL)
    length = snprintf(line, sizeof line, "event exited %s\n", id);
  else if (WIFSIGNALED(*status))
    length = snprintf(line, sizeof line, "event exited %s signal=%d\n", id, WTERMSIG(*status));
  else
    length = snprintf(line, sizeof line, "event exited %s code=%d\n", id, WEXITSTATUS(*status));
  write_whole(STDOUT_FILENO, line, (size_t)length);
}

static void drop(struct watch **at) {
  struct watch *gone = *at;
  *at = gone->next;
  if (gone->pidfd >= 0)
    loop_close(gone->pidfd);
  else
    without_pidfd--;
  free(gone);
}

void watch_add(const char *id, pid_t pid, uid_t base) {
  /* Numbers are given again: one that ended before says nothing of a process that is there, in its sandbox's cgroup. */
  bool there = process_in_sandbox(pid, id, base);
  for (size_t i = 0; i < ENDED_MAX && !there; i++)
    if (ended[i].pid == pid) {
      say_ended(id, &ended[i].status);
      ended[i].pid = 0;
      return;
    }
  struct watch *watch = calloc(1, sizeof *watch);
  if (watch == NULL) abort();
  snprintf(watch->id, sizeof watch->id, "%s", id);
  watch->pid = pid;
  watch->pidfd = open_pidfd(pid);
  if (watch->pidfd >= 0 && !loop_add(watch->pidfd, SOURCE_WATCH, (unsigned)pid)) {
    close(watch->pidfd);
    watch->pidfd = -1;
  }
  if (watch->pidfd < 0) without_pidfd++;
  watch->started = start_time(pid);
  watch->next = all;
  all = watch;
  /* The number may have been given to another process by now. */
  if (watch->started == 0 || !there) {
    say_ended(id, NULL);
    drop(&all);
  }
}

void watch_remove(const char *id) {
  for (struct watch **at = &all; *at != NULL; at = &(*at)->next)
    if (strcmp((*at)->id, id) == 0) {
      drop(at);
      return;
    }
}

static void note_ended(pid_t pid, int status) {
  for (struct watch **at = &all; *at != NULL; at = &(*at)->next)
    if ((*at)->pid == pid) {
      say_ended((*at)->id, &status);
      drop(at);
      return;
    }
  ended[ended_next].pid = pid;
  ended[ended_next].status = status;
  ended_next = (ended_next + 1) % ENDED_MAX;
}

void watch_reap(void) {
  int status;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) note_ended(pid, status);
}

/* A child that ended since the last reaping still tells how. */
static void end(struct watch **at) {
  int status;
  bool known = waitpid((*at)->pid, &status, WNOHANG) == (*at)->pid;
  say_ended((*at)->id, known ? &status : NULL);
  drop(at);
}

/* Its descriptor is asked again: the number may have become another's since it was ready. */
void watch_ready(pid_t pid) {
  for (struct watch **at = &all; *at != NULL; at = &(*at)->next) {
    struct pollfd state = {.fd = (*at)->pidfd, .events = POLLIN};
    if ((*at)->pid != pid || poll(&state, 1, 0) != 1) continue;
    end(at);
    return;
  }
}

bool watch_needs_tick(void) { return without_pidfd > 0; }

void watch_tick(void) {
  struct watch **at = &all;
  while (without_pidfd > 0 && *at != NULL)
    if ((*at)->pidfd < 0 && start_time((*at)->pid) != (*at)->started)
      end(at);
    else
      at = &(*at)->next;
}
