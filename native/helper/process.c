#include "helper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

int open_pidfd(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

bool wait_for_child(pid_t pid, int64_t timeout_us, int *status) {
  int64_t deadline = clock_us() + timeout_us;
  int pidfd = open_pidfd(pid);
  for (;;) {
    pid_t ended = waitpid(pid, status, WNOHANG);
    if (ended != 0 && !(ended < 0 && errno == EINTR)) break;
    int64_t left = deadline - clock_us();
    if (left <= 0) {
      if (pidfd >= 0) close(pidfd);
      return false;
    }
    struct pollfd wait = {.fd = pidfd, .events = POLLIN};
    int step_ms = pidfd >= 0 ? (int)(left / 1000) + 1 : 1;
    poll(&wait, pidfd >= 0, step_ms);
  }
  if (pidfd >= 0) close(pidfd);
  return true;
}

static char *read_text(char *path, char *bytes, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  free(path);
  if (fd < 0) return NULL;
  ssize_t length = read_whole(fd, bytes, size - 1);
  close(fd);
  if (length < 0) return NULL;
  bytes[length] = '\0';
  return bytes;
}

/* Nobody but the slice's own sandbox has a user namespace that maps ids of the slice and nothing else. Where no slice is
   named (0, which is the user itself) any sandbox of this user's counts. */
static bool maps_only_slice(pid_t pid, uid_t base) {
  char bytes[4096];
  unsigned inside, outside, count;
  size_t lines = 0;
  char *at = read_text(format_text("/proc/%d/uid_map", (int)pid), bytes, sizeof bytes);
  if (at == NULL) return false;
  for (int length = 0; sscanf(at, "%u %u %u%n", &inside, &outside, &count, &length) == 3; at += length, lines++)
    if (outside == 0 || outside < base || count > SLICE_IDS || (base && outside - base > SLICE_IDS - count)) return false;
  return lines > 0;
}

bool process_in_sandbox(pid_t pid, const char *id, uid_t base) {
  char bytes[8192];
  if (rootless()) return maps_only_slice(pid, base);
  if (read_text(format_text("/proc/%d/cgroup", (int)pid), bytes, sizeof bytes) == NULL) return false;
  char *needle = format_text("-%s\n", id); /* sandbox-folder.ts names the cgroups */
  bool found = strstr(bytes, needle) != NULL;
  free(needle);
  return found;
}

/* The kernel forgets this at every change of credentials: call it after the last one. */
void die_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }
