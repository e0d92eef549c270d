#define _GNU_SOURCE
#include "guest.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* gVisor has no /proc/PID/task/TID/children and there is no cgroup of our own inside: a run's processes are found by
   their parents. Every orphan goes to the run's supervisor, a subreaper, so the tree is whole (hazard 28). */

enum { PROCESSES_SEEN_MAX = 4096 };

struct seen {
  pid_t pid, parent;
  uint64_t cpu_ticks, rss_pages;
  bool inside;
};

static bool read_stat(const char *pid, struct seen *out) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%s/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  if (size <= 0) return false;
  text[size] = 0;
  char *rest = strrchr(text, ')'); /* the name before it is the process's own choice */
  unsigned long user, system;
  long rss;
  int parent;
  if (!rest || sscanf(rest + 2,
                      "%*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d %*u %*u %ld",
                      &parent, &user, &system, &rss) != 4)
    return false;
  *out = (struct seen){atoi(pid), parent, user + system, rss > 0 ? (uint64_t)rss : 0, false};
  return true;
}

static size_t read_processes(struct seen *list) {
  size_t count = 0;
  DIR *proc = opendir("/proc");
  if (!proc) return 0;
  struct dirent *entry;
  while (count < PROCESSES_SEEN_MAX && (entry = readdir(proc)))
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && read_stat(entry->d_name, &list[count])) count++;
  closedir(proc);
  return count;
}

/* Sums the descendants of root, and sends each the signal unless it is 0. */
struct tree_sum tree_visit(pid_t root, int signal_number) {
  static struct seen list[PROCESSES_SEEN_MAX];
  struct tree_sum sum = {0, 0, 0};
  size_t count = read_processes(list);
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = 0; i < count; i++) {
      if (list[i].inside) continue;
      bool inside = list[i].parent == root;
      for (size_t j = 0; !inside && j < count; j++) inside = list[j].inside && list[j].pid == list[i].parent;
      if (!inside) continue;
      list[i].inside = grown = true;
      sum.count++;
      sum.cpu_us += list[i].cpu_ticks * (1000000 / (uint64_t)sysconf(_SC_CLK_TCK));
      sum.rss_bytes += list[i].rss_pages * (uint64_t)sysconf(_SC_PAGESIZE);
    }
  }
  for (size_t i = 0; signal_number && i < count; i++)
    if (list[i].inside) kill(list[i].pid, signal_number);
  return sum;
}
