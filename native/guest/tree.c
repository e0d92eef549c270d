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
   without a capability. Parents would not do: gVisor has no subreapers, so a double-forked process is nobody's child;
   sessions and environments can be changed at will (hazard 28). */

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

static bool has_group(const char *status, gid_t group) {
  const char *at = last_line(status, "\nGroups:");
  for (; at && *at && *at != '\n';) {
    char *end;
    unsigned long value = strtoul(at, &end, 10);
    if (end == at) return false;
    if (value == group) return true;
    at = end;
  }
  return false;
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

/* Sums the living processes of a run, and sends each the signal unless it is 0. */
struct tree_sum tree_visit(gid_t group, int signal_number, bool with_cpu) {
  struct tree_sum sum = {0, 0, 0};
  char status[2048];
  DIR *proc = opendir("/proc");
  if (!proc) return sum;
  struct dirent *entry;
  while ((entry = readdir(proc))) {
    const char *pid = entry->d_name;
    if (pid[0] < '1' || pid[0] > '9' || !read_file(pid, "status", status, sizeof status)) continue;
    const char *state = last_line(status, "\nState:\t"), *rss = last_line(status, "\nVmRSS:");
    if (!has_group(status, group) || !state || *state == 'Z' || *state == 'X') continue;
    sum.count++;
    if (rss) sum.rss_bytes += strtoull(rss, NULL, 10) * 1024;
    if (with_cpu) sum.cpu_us += cpu_us(pid);
    if (signal_number) kill(atoi(pid), signal_number);
  }
  closedir(proc);
  return sum;
}
