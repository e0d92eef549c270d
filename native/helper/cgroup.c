/*
 * A newborn gets into its cgroups without the lock that stops every fork of the host: to take that, the kernel waits
 * until each processor has passed a quiet moment, 8 ms of a start. It is not taken for a process that is born into a
 * cgroup of version 2, nor for a thread that moves itself alone in version 1.
 */
#include "helper.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOWHERE = -1 };

static bool is_cgroup(const struct request *request, size_t index) {
  return strcmp(request->arguments[index].key, "cgroup") == 0;
}

/* Version 1 alone has the file. */
static char *threads_file(const char *cgroup) { return format_text("%s/tasks", cgroup); }

static int find_version_2(const struct request *request) {
  for (size_t i = 0; i < request->count; i++)
    if (is_cgroup(request, i) && access(threads_file(request->arguments[i].value), F_OK) != 0) return (int)i;
  return NOWHERE;
}

static pid_t fork_into(const char *cgroup) {
  int fd = open(cgroup, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -1;
  struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)fd};
  pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
  close(fd);
  return pid;
}

/* `born_in` is the argument whose cgroup the child is in already. */
pid_t cgroup_fork(const struct request *request, int *born_in) {
  *born_in = find_version_2(request);
  if (*born_in != NOWHERE) {
    pid_t pid = fork_into(request->arguments[*born_in].value);
    if (pid >= 0) return pid;
  }
  *born_in = NOWHERE; /* an old kernel, or one that refuses: it joins like any other */
  return fork();
}

/* Called by the child, whose only thread this is. Returns the one that could not be joined. */
const char *cgroup_join(const struct request *request, int born_in) {
  for (size_t i = 0; i < request->count; i++) {
    if (!is_cgroup(request, i) || (int)i == born_in) continue;
    const char *cgroup = request->arguments[i].value;
    bool joined = write_file(threads_file(cgroup), "0");
    if (!joined && errno == ENOENT) joined = write_file(format_text("%s/cgroup.procs", cgroup), "0");
    if (!joined) return cgroup;
  }
  return NULL;
}
