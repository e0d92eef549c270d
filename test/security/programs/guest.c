/* Taking over another process: its memory, its descriptors, its trace. */
#define _GNU_SOURCE
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TARGETS = 1024, CALL_PIDFD_OPEN = 434, CALL_PIDFD_GETFD = 438 };

typedef void attack(pid_t pid);

static int attack_targets(int count, char **words, attack *attack) {
  static pid_t list[TARGETS];
  if (count < 2) return 64;
  size_t found = find_targets(words[1], list, TARGETS);
  for (size_t i = 0; i < found; i++) attack(list[i]);
  say("tried %zu processes", found);
  return 0;
}

static void trace_one(pid_t pid) {
  if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0) {
    gained("a trace of process %d", pid);
    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
    waitpid(pid, NULL, __WALL);
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
  } else {
    missed("seizing process %d", pid);
  }
  if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0) {
    gained("process %d attached", pid);
    waitpid(pid, NULL, __WALL);
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
  } else {
    missed("attaching process %d", pid);
  }
}
static int trace(int count, char **words) { return attack_targets(count, words, trace_one); }

/* The first mapped address, by the maps where they can be read, else where static programs usually are. */
static uint64_t some_address(pid_t pid) {
  char path[64], line[256];
  uint64_t address = 0;
  snprintf(path, sizeof path, "/proc/%d/maps", pid);
  read_line(path, line, sizeof line);
  return sscanf(line, "%" SCNx64, &address) == 1 ? address : 0x400000;
}

static void read_memory_of(pid_t pid) {
  char path[64], bytes[16] = "";
  uint64_t address = some_address(pid);
  struct iovec here = {bytes, sizeof bytes}, there = {(void *)(uintptr_t)address, sizeof bytes};
  if (syscall(SYS_process_vm_readv, pid, &here, 1L, &there, 1L, 0L) > 0) gained("memory of process %d by process_vm_readv", pid);
  else missed("process_vm_readv of %d", pid);
  snprintf(path, sizeof path, "/proc/%d/mem", pid);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd >= 0 && pread(fd, bytes, sizeof bytes, (off_t)address) > 0) gained("memory of process %d by %s", pid, path);
  else missed("reading %s", path);
  if (fd >= 0) close(fd);
}
static int read_memory(int count, char **words) { return attack_targets(count, words, read_memory_of); }

/* /dev/null is anybody's. Judged by the descriptor we hold, since the path may be another's by now. Where it comes from
   the host gVisor tells no device number: it is known by its end at once, which no terminal has. */
static bool is_null(int fd) {
  struct stat info;
  char byte;
  if (fstat(fd, &info) < 0 || !S_ISCHR(info.st_mode)) return false;
  return info.st_rdev == makedev(1, 3) || (info.st_rdev == 0 && (read(fd, &byte, 1) == 0 || errno == EBADF));
}

static void take_by_proc(pid_t pid) {
  char path[320];
  snprintf(path, sizeof path, "/proc/%d/fd", pid);
  DIR *list = opendir(path);
  struct dirent *entry;
  if (!list) missed("opening %s", path);
  while (list && (entry = readdir(list)))
    if (entry->d_name[0] != '.') say("process %d has a descriptor %s", pid, entry->d_name);
  if (list) closedir(list);
  for (int number = 0; number < 16; number++) {
    static const int modes[] = {O_RDONLY, O_WRONLY, O_RDWR};
    for (int i = 0; i < 3; i++) {
      snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, number);
      int fd = open(path, modes[i] | O_NONBLOCK | O_CLOEXEC);
      if (fd >= 0 && !is_null(fd)) gained("%s by open", path);
      if (fd >= 0) close(fd);
    }
  }
}

static void take_descriptors_of(pid_t pid) {
  take_by_proc(pid);
  int handle = (int)syscall(CALL_PIDFD_OPEN, pid, 0);
  if (handle < 0) return missed("pidfd_open of %d", pid);
  for (int number = 0; number < 16; number++) {
    int fd = (int)syscall(CALL_PIDFD_GETFD, handle, number, 0);
    if (fd >= 0) gained("descriptor %d of process %d by pidfd_getfd", number, pid), close(fd);
  }
  close(handle);
}
static int take_descriptors(int count, char **words) { return attack_targets(count, words, take_descriptors_of); }

/* runsc gives every init a HOME of its own, which tells nothing. */
static void read_environment_of(pid_t pid) {
  static char text[65536];
  static const char *const files[] = {"environ", "auxv", "io", "syscall", "stack", "personality"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, files[i]);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text);
    if (size > 0 && i == 0 && strcmp(text, "HOME=/")) gained("the environment of process %d, %zd bytes", pid, size);
    else say("%s gives %zd bytes", path, size);
    if (fd >= 0) close(fd);
  }
}
static int read_environment(int count, char **words) { return attack_targets(count, words, read_environment_of); }

static bool is_ours(const char *name) {
  return !strcmp(name, "caisson-file") || !strcmp(name, "guest");
}

/* The window between a fork of the guest and the start of user code: same user already, still the guest's memory. */
static bool watch_one(pid_t pid, void *opened) {
  static const char *const files[] = {"mem", "fd/0", "fd/1", "fd/2", "fd/3", "fd/4", "fd/5", "fd/6"};
  char path[64], before[64], after[64];
  snprintf(path, sizeof path, "/proc/%d/comm", pid);
  read_line(path, before, sizeof before);
  if (!is_ours(before)) return true;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    snprintf(path, sizeof path, "/proc/%d/%s", pid, files[i]);
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    char own[64];
    snprintf(own, sizeof own, "/proc/%d/comm", pid);
    read_line(own, after, sizeof after);
    if (is_ours(after) && !is_null(fd)) gained("%s of %s", path, after), ++*(long *)opened;
    close(fd);
  }
  return *(long *)opened < 8;
}

/* watch-newborns MS */
static int watch_newborns(int count, char **words) {
  long opened = 0, rounds = 0;
  if (count < 2) return 64;
  say("ready");
  for (long end = milliseconds() + number(words[1]); milliseconds() < end; rounds++) each_process(watch_one, &opened);
  say("looked %ld times", rounds);
  return 0;
}

const struct command guest_commands[] = {
    {"trace", trace},
    {"read-memory", read_memory},
    {"take-descriptors", take_descriptors},
    {"read-environment", read_environment},
    {"watch-newborns", watch_newborns},
    {NULL, NULL},
};
