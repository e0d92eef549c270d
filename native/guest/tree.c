#define _GNU_SOURCE
#include "guest.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A run's processes carry a supplementary group of their own, which every descendant inherits and none can give up
   without a capability. Parents would not do: a process that is forked twice is PID 1's child, like every orphan;
   sessions and environments can be changed at will (hazard 28). */

enum { STATUS_BYTES = 2048 };

static bool read_file(const char *pid, const char *name, char *text, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t got = read(fd, text, size - 1);
  close(fd);
  if (got <= 0) return false;
  text[got] = 0;
  return true;
}

/* The last one counts: the process's name, which it chooses itself, comes before all others. */
static const char *last_line(const char *text, const char *key) {
  const char *found = NULL;
  for (const char *at = text; (at = strstr(at, key)); at++) found = at + strlen(key);
  return found;
}

/* The slot of the run that a process belongs to, or STREAMS_MAX. */
static uint32_t run_of(const char *status) {
  const char *at = last_line(status, "\nGroups:");
  for (; at && *at && *at != '\n';) {
    char *end;
    unsigned long value = strtoul(at, &end, 10);
    if (end == at) break;
    if (value >= RUN_GROUP && value < RUN_GROUP + STREAMS_MAX) return (uint32_t)(value - RUN_GROUP);
    at = end;
  }
  return STREAMS_MAX;
}

uint32_t tree_slot(pid_t pid) {
  char status[STATUS_BYTES], name[16];
  snprintf(name, sizeof name, "%d", (int)pid);
  return read_file(name, "status", status, sizeof status) ? run_of(status) : STREAMS_MAX;
}

static bool first_thread_ended(const char *status) {
  const char *state = last_line(status, "\nState:\t");
  return !state || *state == 'Z' || *state == 'X';
}

static bool has_more_threads(const char *status) {
  const char *threads = last_line(status, "\nThreads:");
  return threads && strtoul(threads, NULL, 10) > 1;
}

/* Pages of files are the kernel's to take back, and those of programs are counted in every process: neither is the run's.
   gVisor tells nothing apart. */
static uint64_t resident_bytes(const char *status) {
  const char *own = last_line(status, "\nRssAnon:"), *shared = last_line(status, "\nRssShmem:");
  if (own && shared) return (strtoull(own, NULL, 10) + strtoull(shared, NULL, 10)) * 1024;
  const char *rss = last_line(status, "\nVmRSS:");
  return rss ? strtoull(rss, NULL, 10) * 1024 : 0;
}

/* A process whose first thread has ended tells of its memory in another one's status only. gVisor shows none of them: there
   it counts for all that is used in the sandbox, which is the most it can hold. */
static uint64_t threads_resident_bytes(const char *pid) {
  char path[64], status[STATUS_BYTES];
  uint64_t bytes = 0;
  snprintf(path, sizeof path, "/proc/%.16s/task", pid);
  DIR *tasks = opendir(path);
  struct dirent *entry;
  while (!bytes && tasks && (entry = readdir(tasks))) {
    if (entry->d_name[0] == '.' || !strcmp(entry->d_name, pid)) continue;
    snprintf(path, sizeof path, "task/%.16s/status", entry->d_name);
    if (read_file(pid, path, status, sizeof status)) bytes = resident_bytes(status);
  }
  if (tasks) closedir(tasks);
  return bytes ? bytes : memory_used_bytes();
}

static uint64_t cpu_us(const char *pid) {
  char text[1024];
  unsigned long user, system;
  long children_user, children_system;
  if (!read_file(pid, "stat", text, sizeof text)) return 0;
  char *rest = strrchr(text, ')');
  if (!rest || sscanf(rest + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &user, &system, &children_user,
                      &children_system) != 4)
    return 0;
  return (user + system + (unsigned long)children_user + (unsigned long)children_system) * (1000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* One look at all processes serves all runs: sums of the living ones, and SIGKILL for those that are to end. Returns
   whether a process went away under the look; its children may have been missed. */
bool tree_scan(struct tree_sum *sums) {
  char status[STATUS_BYTES];
  bool moved = false;
  DIR *proc = opendir("/proc");
  if (!proc) die("/proc");
  struct dirent *entry;
  while (errno = 0, (entry = readdir(proc))) {
    const char *pid = entry->d_name;
    if (pid[0] < '1' || pid[0] > '9' || !strcmp(pid, "1")) continue;
    if (!read_file(pid, "status", status, sizeof status)) {
      moved = true;
      continue;
    }
    uint32_t slot = run_of(status);
    bool ended = first_thread_ended(status);
    if (slot == STREAMS_MAX || (ended && !has_more_threads(status))) continue;
    struct tree_sum *sum = &sums[slot];
    sum->count++;
    if (sum->with_memory) sum->rss_bytes += ended ? threads_resident_bytes(pid) : resident_bytes(status);
    if (sum->with_cpu) sum->cpu_us += cpu_us(pid);
    if (sum->kill) kill(atoi(pid), SIGKILL);
  }
  if (errno) moved = true;
  closedir(proc);
  return moved;
}
