/*
 * An ordinary user's helper is root of a user namespace of that user's: its root is the user, behind it come the user's
 * subordinate ids. newuidmap and newgidmap, which may, write the two maps. A sandbox gets a namespace below this one that
 * maps its own slice alone, so that neither the user nor another sandbox has a name in it (SBX-15).
 */
#include "helper.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool active;

bool rootless(void) { return active; }

void rootless_activate(void) {
  active = true;
  prctl(PR_SET_NAME, "caisson-helper"); /* executed by /proc/self/exe, it would be called exe */
}

/* The owner reads it as the reason of this process's end. */
static NORETURN void refuse(const char *what, const char *why) {
  char *line = format_text("event refused %s%s%s", what, *why == '\0' ? "" : ": ", why);
  for (char *at = line; *at != '\0'; at++)
    if (*at == '\n' || *at == '\r') *at = ' ';
  write_whole(STDOUT_FILENO, line, strlen(line));
  write_whole(STDOUT_FILENO, "\n", 1);
  _exit(1);
}

/* Runs one of the two programs; what it says on stderr is kept for the owner. */
static bool map(const char *program, pid_t pid, unsigned own, const char *start, const char *count, char *said,
                size_t size) {
  int ends[2], status;
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    char *argv[] = {(char *)program, format_text("%d", (int)pid), "0",           format_text("%u", own), "1", "1",
                    (char *)start,   (char *)count,               NULL};
    char *environment[] = {NULL};
    dup2(ends[1], STDERR_FILENO);
    execve(program, argv, environment);
    _exit(127);
  }
  close(ends[1]);
  ssize_t length = read_whole(ends[0], said, size - 1);
  said[length > 0 ? length : 0] = '\0';
  close(ends[0]);
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Stays in the first namespace, where the two programs have their rights. */
static NORETURN void map_parent(char **arguments, int go_fd, pid_t parent) {
  char byte, said[256];
  if (read_whole(go_fd, &byte, 1) != 1) _exit(1);
  if (!map(arguments[0], parent, getuid(), arguments[2], arguments[3], said, sizeof said)) refuse("newuidmap", said);
  if (!map(arguments[1], parent, getgid(), arguments[4], arguments[5], said, sizeof said)) refuse("newgidmap", said);
  _exit(0);
}

void rootless_enter(char **arguments) {
  int go[2], status;
  char byte = 0;
  pid_t parent = getpid();
  if (pipe2(go, O_CLOEXEC) != 0) refuse("no pipe", strerror(errno));
  pid_t mapper = fork();
  if (mapper < 0) refuse("cannot fork", strerror(errno));
  if (mapper == 0) {
    close(go[1]);
    map_parent(arguments, go[0], parent);
  }
  close(go[0]);
  if (unshare(CLONE_NEWUSER) != 0) refuse("a user namespace cannot be made", strerror(errno));
  if (!write_whole(go[1], &byte, 1) || waitpid(mapper, &status, 0) != mapper || status != 0) _exit(1);
  if (setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0) refuse("cannot become root of the namespace", strerror(errno));
  /* Once more from the start: what the kernel shows of a process depends on the namespace it was executed in. */
  char *argv[] = {"caisson-helper", "serve-rootless", NULL};
  char *environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
  execve("/proc/self/exe", argv, environment);
  refuse("cannot start again", strerror(errno));
}
