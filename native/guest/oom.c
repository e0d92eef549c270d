#include "guest.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* User code is killed for memory before the guest is. A newborn inherits that from PID 1, which is raised for the moment: the
   kernel sets the value of all who share a memory, so a newborn that raised itself would raise the guest for good, and a
   guest that lowered itself too soon would lower its newborns. */

enum { VALUE_BYTES = 8, LOWER_MS = 3 };

static int fd = -1;
static bool raised;
static uint64_t lower_at_ms;
static char own[VALUE_BYTES];

void oom_prepare(void) {
  fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    if (errno != ENOENT) die("oom_score_adj");
    return;
  }
  if (read(fd, own, sizeof own - 1) <= 0) die("oom_score_adj");
}

void oom_raise(void) {
  lower_at_ms = now_ms() + LOWER_MS;
  if (fd < 0 || raised) return;
  raised = pwrite(fd, "1000", 4, 0) == 4;
}

/* When the value is to be given back, or UINT64_MAX: once nobody shares the guest's memory, and a little late, so that a
   burst of short runs costs one change. */
uint64_t oom_due_ms(void) { return raised && !starts_under_way() ? lower_at_ms : UINT64_MAX; }

void oom_lower(void) {
  (void)!pwrite(fd, own, strlen(own), 0); /* refused where the guest began above its least: then all are equal */
  raised = false;
}
