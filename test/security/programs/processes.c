/* Seeing, signalling and opening other processes. */
#define _GNU_SOURCE
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TARGETS = 1024, CALL_PIDFD_SEND_SIGNAL = 424, CALL_PIDFD_OPEN = 434 };

static bool find_mark(pid_t pid, void *mark) {
  static const char *const files[] = {"cmdline", "environ", "comm", "status", "maps", "mountinfo"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char path[64];
    static char text[65536];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, files[i]);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text);
    if (fd >= 0) close(fd);
    if (size > 0 && memmem(text, (size_t)size, mark, strlen(mark))) gained("a sight of process %d by its %s", pid, files[i]);
  }
  return true;
}

/* see MARK: processes that carry the mark, spelt backwards so that our own arguments do not. */
static int see(int count, char **words) {
  char mark[256] = "";
  size_t length = count > 1 ? strlen(words[1]) : 0;
  for (size_t i = 0; i < length && i < sizeof mark - 1; i++) mark[i] = words[1][length - 1 - i];
  if (!length) return 64;
  each_process(find_mark, mark);
  return 0;
}

static void signal_by_every_way(pid_t pid, int number) {
  siginfo_t info = {.si_signo = number, .si_code = SI_QUEUE, .si_pid = getpid(), .si_uid = getuid()};
  if (kill(pid, number) == 0) gained("signal %d to %d by kill", number, pid);
  if (syscall(SYS_tgkill, pid, pid, number) == 0) gained("signal %d to %d by tgkill", number, pid);
  if (syscall(SYS_tkill, pid, number) == 0) gained("signal %d to %d by tkill", number, pid);
  if (syscall(SYS_rt_sigqueueinfo, pid, number, &info) == 0) gained("signal %d to %d by sigqueue", number, pid);
  int handle = (int)syscall(CALL_PIDFD_OPEN, pid, 0);
  if (handle >= 0 && syscall(CALL_PIDFD_SEND_SIGNAL, handle, number, NULL, 0) == 0) gained("signal %d to %d by pidfd", number, pid);
  if (handle >= 0) close(handle);
  int own = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the kernel sends its owner a signal when data comes */
  if (own >= 0) fcntl(own, F_SETSIG, number), fcntl(own, F_SETOWN, pid), close(own);
}

/* signal TARGETS FIRST LAST: each of the signals, to each of the targets that is not our own user's. */
static int send_signals(int count, char **words) {
  static pid_t list[TARGETS];
  if (count < 4) return 64;
  size_t found = find_targets(words[1], list, TARGETS);
  for (size_t i = 0; i < found; i++)
    for (int number = atoi(words[2]); number <= atoi(words[3]); number++) signal_by_every_way(list[i], number);
  say("signalled %zu processes", found);
  return 0;
}

/* signal-everybody: one call for all that may be signalled, and one for every group. */
static int signal_everybody(int count, char **words) {
  (void)count, (void)words;
  if (on_the_machine()) return gained("the machine's own pid namespace"), 0;
  say("kill everybody: %d", kill(-1, SIGKILL));
  for (pid_t group = 1; group < 4096; group++)
    if (group != getpgrp()) kill(-group, SIGKILL);
  return 0;
}

static void limit_one(pid_t pid) {
  struct rlimit now, least = {0, 0};
  static const int resources[] = {RLIMIT_NOFILE, RLIMIT_CPU, RLIMIT_NPROC, RLIMIT_AS, RLIMIT_FSIZE, RLIMIT_STACK};
  for (size_t i = 0; i < sizeof resources / sizeof *resources; i++)
    if (prlimit(pid, resources[i], NULL, &now) == 0 && prlimit(pid, resources[i], &least, &now) == 0)
      gained("limit %d of process %d", resources[i], pid);
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  struct sched_param parameters = {.sched_priority = 0};
  if (setpriority(PRIO_PROCESS, (id_t)pid, 19) == 0) gained("the priority of process %d", pid);
  if (sched_setaffinity(pid, sizeof first, &first) == 0) gained("the processors of process %d", pid);
  if (syscall(SYS_sched_setscheduler, pid, SCHED_IDLE, &parameters) == 0) gained("the scheduling of process %d", pid);
  if (syscall(SYS_ioprio_set, 1, pid, 3 << 13) == 0) gained("the input and output of process %d", pid);
  static const char *const files[][2] = {{"oom_score_adj", "1000"}, {"clear_refs", "1"}, {"coredump_filter", "0"}, {"comm", "x"}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, files[i][0]);
    if (write_text(path, files[i][1])) gained("%s", path);
  }
}

/* limit TARGETS: starve a process by its limits, its priority or its processors. */
static int limit_targets(int count, char **words) {
  static pid_t list[TARGETS];
  if (count < 2) return 64;
  size_t found = find_targets(words[1], list, TARGETS);
  for (size_t i = 0; i < found; i++) limit_one(list[i]);
  say("tried %zu processes", found);
  return 0;
}

static bool stop_one(pid_t pid, void *stopped) {
  if (pid != getppid() && kill(pid, SIGSTOP) == 0) ++*(long *)stopped;
  return true;
}

/* stop-others MS: whatever starts meanwhile is stopped where it stands. */
static int stop_others(int count, char **words) {
  long stopped = 0;
  if (count < 2) return 64;
  if (on_the_machine()) return gained("the machine's own pid namespace"), 0;
  say("ready");
  for (long end = milliseconds() + number(words[1]); milliseconds() < end;) each_process(stop_one, &stopped);
  say("stopped %ld", stopped);
  return 0;
}

static bool kill_one(pid_t pid, void *killed) {
  if (pid != getppid() && kill(pid, SIGKILL) == 0) ++*(long *)killed;
  return true;
}

/* kill-others MS */
static int kill_others(int count, char **words) {
  long killed = 0;
  if (count < 2) return 64;
  if (on_the_machine()) return gained("the machine's own pid namespace"), 0;
  say("ready");
  for (long end = milliseconds() + number(words[1]); milliseconds() < end;) each_process(kill_one, &killed);
  say("killed %ld", killed);
  return 0;
}

const struct command process_commands[] = {
    {"see", see},
    {"signal", send_signals},
    {"signal-everybody", signal_everybody},
    {"limit", limit_targets},
    {"stop-others", stop_others},
    {"kill-others", kill_others},
    {NULL, NULL},
};
