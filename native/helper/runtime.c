/*
 * Runs the OCI runtime where it is nobody on the host: in the sandbox's cgroups and in a user namespace that maps its
 * root to the sandbox's own range, so that sentry, gofer and init have uids no other sandbox has (hazard 11).
 */
#include "helper.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATE "/run/caisson/state"
#define LOG "/run/caisson/log/runtime.log"
enum { IDS = 65536, LOG_TAIL_BYTES = 2048, RUNTIME_ARGUMENTS_MAX = 64, USER_SHARES = 16, HIGH_FD = 1000 };

static NORETURN void child_fail(int status_fd, const char *what) {
  char *text = format_text("%s: %s", what, strerror(errno));
  write_whole(status_fd, text, strlen(text));
  _exit(126);
}

static void take_stdio(const struct launch *launch, int status_fd) {
  int to_guest = wire_open_again(launch->to_guest, O_RDWR);
  int from_guest = wire_open_again(launch->from_guest, O_RDWR);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (to_guest < 0 || from_guest < 0 || null < 0) child_fail(status_fd, "cannot open its standard streams");
  if (dup2(to_guest, 0) < 0 || dup2(from_guest, 1) < 0 || dup2(null, 2) < 0)
    child_fail(status_fd, "cannot take its standard streams");
  /* Where threads share a table of open files that must grow, the kernel has them wait until every processor has passed by:
     5 to 10 ms, for the sentry at each start, and for the gofer as it opens files. A high one makes the table large before
     there are threads; the runtime closes it as it executes them. Where a limit is lower than that, the table stays small. */
  if (request_find(launch->request, "gofer") != NULL) (void)dup2(null, HIGH_FD);
}

/* What the kernel counts by user (inotify, message queues, pending signals) it also counts against whoever made the user
   namespace. Made by root, one sandbox could take all of root's; so it is made under the first uid of its own range,
   with the capabilities that hosts ask for which restrict it to the privileged. */
static void become_first_of_range(const struct launch *launch, int status_fd) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct held[2];
  if (syscall(SYS_capget, &header, held) != 0 || prctl(PR_SET_KEEPCAPS, 1) != 0 || setgroups(0, NULL) != 0 ||
      setresgid(launch->base, launch->base, launch->base) != 0 ||
      setresuid(launch->base, launch->base, launch->base) != 0 || syscall(SYS_capset, &header, held) != 0)
    child_fail(status_fd, "cannot take a uid of the range");
}

/* Rootless that is the user itself, in the end: what one sandbox may take of it is a small part. */
static void leave_user_its_share(void) {
  static const int counted[] = {RLIMIT_MSGQUEUE, RLIMIT_SIGPENDING, RLIMIT_MEMLOCK};
  for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
    struct rlimit limit;
    if (getrlimit(counted[i], &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    limit.rlim_cur /= USER_SHARES;
    limit.rlim_max = limit.rlim_cur;
    setrlimit(counted[i], &limit);
  }
}

static void limit_namespace(int status_fd) {
  static const char *const counted[][2] = {
      {"max_inotify_instances", "16"}, {"max_inotify_watches", "4096"}, {"max_fanotify_groups", "0"},
      {"max_user_namespaces", "8"},    {"max_mnt_namespaces", "8"},
  };
  for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
    if (!write_file(format_text("/proc/sys/user/%s", counted[i][0]), counted[i][1]) && errno != ENOENT)
      child_fail(status_fd, counted[i][0]);
}

static void become_root_of_range(int status_fd, int ready_fd, int go_fd) {
  char byte = 0;
  if (rootless()) leave_user_its_share();
  if (unshare(CLONE_NEWUSER) != 0) child_fail(status_fd, "cannot make a user namespace");
  if (!write_whole(ready_fd, &byte, 1) || read_whole(go_fd, &byte, 1) != 1)
    child_fail(status_fd, "the user namespace was not mapped");
  if (setgroups(0, NULL) != 0 || setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0)
    child_fail(status_fd, "cannot become root of the user namespace");
  if (rootless()) limit_namespace(status_fd);
  /* Of the runtime itself, gVisor's sentry and gofer included: its root is the sandbox's cgroup, joined by now. */
  if (unshare(CLONE_NEWCGROUP) != 0) child_fail(status_fd, "cannot make a cgroup namespace");
}

static NORETURN void child(const struct launch *launch, int born_in, int status_fd, int ready_fd, int go_fd) {
  const char *path = request_text(launch->request, "runtime");
  char *argv[RUNTIME_ARGUMENTS_MAX + 2] = {(char *)path};
  char *environment[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL};
  struct rlimit no_core = {0, 0};
  size_t count = 1;
  for (size_t i = 0; i < launch->request->count && count <= RUNTIME_ARGUMENTS_MAX; i++)
    if (strcmp(launch->request->arguments[i].key, "arg") == 0)
      argv[count++] = (char *)launch->request->arguments[i].value;

  const char *refused = cgroup_join(launch->request, born_in);
  if (refused != NULL) child_fail(status_fd, format_text("cannot join %s", refused));
  setsid();
  umask(022);
  setrlimit(RLIMIT_CORE, &no_core);
  write_file("/proc/self/oom_score_adj", "0");
  if (chdir("/") != 0) child_fail(status_fd, "cannot leave its folder");
  take_stdio(launch, status_fd);
  become_first_of_range(launch, status_fd);
  become_root_of_range(status_fd, ready_fd, go_fd);
  die_with_parent();
  if (request_find(launch->request, "memory") != NULL) memory_hand_over(request_text(launch->request, "memory"), MEMORY_FD);
  if (request_find(launch->request, "sealed") != NULL) sealed_execute(argv, environment);
  execve(RUNTIME, argv, environment);
  child_fail(status_fd, path);
}

/* The whole range of a sandbox that root makes; of an ordinary user's the few ids that it needs. */
static char *read_map(const struct launch *launch, const char *key) {
  char *map = format_text("%s", "");
  for (size_t i = 0; i < launch->request->count; i++) {
    const struct argument *argument = &launch->request->arguments[i];
    if (strcmp(argument->key, key) != 0) continue;
    char *longer = format_text("%s%s\n", map, argument->value);
    free(map);
    map = longer;
  }
  if (*map != '\0') return map;
  if (rootless()) fail_with(EINVAL, "the request has no %s", key);
  return format_text("0 %u %u\n", launch->base, IDS);
}

static void map_range(const struct launch *launch, pid_t pid) {
  if (!write_file(format_text("/proc/%d/uid_map", (int)pid), read_map(launch, "uidmap")) ||
      !write_file(format_text("/proc/%d/gid_map", (int)pid), read_map(launch, "gidmap")))
    fail("cannot map the user namespace");
}

static int open_regular(const char *path) {
  struct stat info;
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 || (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))) return fd;
  close(fd);
  errno = EINVAL;
  return -1;
}

static NORETURN void fail_runtime(int error, const char *what, int status_fd) {
  char tail[LOG_TAIL_BYTES + 1] = "";
  fcntl(status_fd, F_SETFL, O_NONBLOCK);
  ssize_t length = read_whole(status_fd, tail, LOG_TAIL_BYTES);
  if (length <= 0) {
    int log = open_regular(LOG);
    off_t end = log < 0 ? 0 : lseek(log, 0, SEEK_END);
    if (log >= 0) lseek(log, end > LOG_TAIL_BYTES ? end - LOG_TAIL_BYTES : 0, SEEK_SET);
    length = log < 0 ? 0 : read_whole(log, tail, LOG_TAIL_BYTES);
  }
  tail[length > 0 ? length : 0] = '\0';
  fail_with(error, *tail == '\0' ? "%s" : "%s [%s]", what, tail);
}

static pid_t read_pid(void) {
  char text[32] = "";
  int fd = open_regular(STATE "/pid");
  if (fd < 0) fail("the runtime wrote no pid");
  ssize_t length = read_whole(fd, text, sizeof text - 1);
  close(fd);
  pid_t pid = length > 0 ? (pid_t)atoi(text) : 0;
  if (pid <= 1) fail_with(EINVAL, "the runtime wrote no pid");
  return pid;
}

static bool is_gofer(int pid) {
  char name[sizeof "runsc-gofer"] = "";
  int fd = open(format_text("/proc/%d/cmdline", pid), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  read_whole(fd, name, sizeof name);
  close(fd);
  return memcmp(name, "runsc-gofer", sizeof name) == 0;
}

/* gVisor's init is no process of the host; its gofer has the sandbox's root as its own. */
static pid_t find_gofer_of_slice(const struct launch *launch) {
  DIR *processes = opendir("/proc");
  pid_t found = 0;
  if (processes == NULL) fail("cannot list the processes");
  for (struct dirent *entry; found == 0 && (entry = readdir(processes)) != NULL;) {
    pid_t pid = (pid_t)atoi(entry->d_name);
    if (pid > 1 && is_gofer(pid) && process_in_sandbox(pid, "", launch->base)) found = pid;
  }
  closedir(processes);
  return found;
}

static pid_t find_gofer(const struct launch *launch) {
  char pids[1 << 16];
  if (rootless()) return find_gofer_of_slice(launch);
  const char *cgroup = request_text(launch->request, "cgroup");
  int fd = open(format_text("%s/cgroup.procs", cgroup), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("cannot read the processes of %s", cgroup);
  ssize_t length = read_whole(fd, pids, sizeof pids - 1);
  close(fd);
  pids[length > 0 ? length : 0] = '\0';
  for (char *at = pids; *at != '\0';) {
    pid_t pid = (pid_t)strtol(at, &at, 10);
    while (*at == '\n') at++;
    if (is_gofer(pid)) return pid;
  }
  return 0;
}

struct started runtime_run(const struct launch *launch) {
  int ready[2], go[2], outcome[2], status;
  char byte = 0;
  if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(go, O_CLOEXEC) != 0 || pipe2(outcome, O_CLOEXEC) != 0)
    fail("cannot make a pipe");
  int born_in;
  pid_t pid = cgroup_fork(launch->request, &born_in);
  if (pid < 0) fail("cannot fork");
  if (pid == 0) {
    close(go[1]);
    child(launch, born_in, outcome[1], ready[1], go[0]);
  }
  close(outcome[1]);
  close(ready[1]);
  if (read_whole(ready[0], &byte, 1) != 1) fail_runtime(EPERM, "the runtime cannot be started", outcome[0]);
  map_range(launch, pid);
  reply_step("runtime");
  if (!write_whole(go[1], &byte, 1)) fail_runtime(EPERM, "the runtime cannot be started", outcome[0]);

  if (!wait_for_child(pid, (int64_t)request_number(launch->request, "timeoutMs") * 1000, &status)) {
    kill(pid, SIGKILL);
    fail_runtime(ETIMEDOUT, "the runtime did not start the sandbox in time", outcome[0]);
  }
  if (WIFSIGNALED(status))
    fail_runtime(EIO, format_text("the runtime was ended by signal %d", WTERMSIG(status)), outcome[0]);
  if (WEXITSTATUS(status) != 0)
    fail_runtime(EIO, format_text("the runtime ended with exit code %d", WEXITSTATUS(status)), outcome[0]);
  struct started started = {.pid = read_pid()};
  if (request_find(launch->request, "gofer") != NULL) started.gofer = find_gofer(launch);
  return started;
}
