#include "helper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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

bool process_in_sandbox(pid_t pid, const char *id) {
  char bytes[8192];
  char *path = format_text("/proc/%d/cgroup", (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  free(path);
  if (fd < 0) return false;
  ssize_t length = read_whole(fd, bytes, sizeof bytes - 1);
  close(fd);
  if (length < 0) return false;
  bytes[length] = '\0';
  char *needle = format_text("-%s\n", id); /* sandbox-folder.ts names the cgroups */
  bool found = strstr(bytes, needle) != NULL;
  free(needle);
  return found;
}

/* The kernel forgets this at every change of credentials: call it after the last one. */
void die_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }
