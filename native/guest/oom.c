#include "guest.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* User code is killed for memory before the guest is. A newborn inherits that from PID 1, which is raised for the moment: the
   kernel sets the value of all who share a memory, so a newborn that raised itself would raise the guest for good, and a
   guest that lowered itself too soon would lower its newborns. */

enum { VALUE_BYTES = 8, LOWER_MS = 3 };

static bool raised;
static uint64_t lower_at_ms;
static char own[VALUE_BYTES];

static int open_value(int flags) { return open("/proc/self/oom_score_adj", flags | O_CLOEXEC); }

static bool set(const char *value) {
  int fd = open_value(O_WRONLY);
  if (fd < 0) return false;
  ssize_t size = write(fd, value, strlen(value));
  close(fd);
  return size > 0;
}

/* Where there is none, and under gVisor, which keeps the value and kills nobody by it, nothing is ever set. */
void oom_prepare(void) {
  if (access("/proc/sentry-meminfo", F_OK) == 0) return;
  int fd = open_value(O_RDONLY);
  if (fd < 0 && errno == ENOENT) return;
  if (fd < 0 || read(fd, own, sizeof own - 1) <= 0) die("oom_score_adj");
  close(fd);
}

/* Of a process that has a memory of its own. */
bool oom_go_first(void) { return !*own || set("1000"); }

void oom_raise(void) {
  lower_at_ms = now_ms() + LOWER_MS;
  if (*own && !raised) raised = set("1000");
}

/* When the value is to be given back, or UINT64_MAX: once nobody shares the guest's memory, and a little late, so that a
   burst of short runs costs one change. */
uint64_t oom_due_ms(void) { return raised && !starts_under_way() ? lower_at_ms : UINT64_MAX; }

void oom_lower(void) {
  set(own); /* refused where the guest began above its least: then all are equal */
  raised = false;
}
