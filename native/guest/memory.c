#include "guest.h"

#include <sys/sysinfo.h>

/* Under gVisor the kernel that runs user code is the sentry, and a cgroup that fires takes all of it. So the limit is
   enforced here, below the cgroup's: the sentry's own count of what it holds (anonymous, tmpfs, page cache) is what
   sysinfo() tells (SBX-07, hazard 7). */

static uint64_t limit_bytes, baseline_bytes, used_bytes;

static uint64_t measure(void) {
  struct sysinfo info;
  if (sysinfo(&info) < 0) die("sysinfo");
  return (uint64_t)(info.totalram - info.freeram) * info.mem_unit;
}

void memory_limit(uint64_t bytes) {
  limit_bytes = bytes;
  if (bytes && !baseline_bytes) baseline_bytes = measure();
}

bool memory_exceeded(void) {
  if (!limit_bytes) return false;
  uint64_t total = measure();
  used_bytes = total > baseline_bytes ? total - baseline_bytes : 0;
  return used_bytes > limit_bytes;
}

/* The nearer the limit, the closer the look; 0 where nothing is watched. */
int memory_interval_ms(void) {
  if (!limit_bytes) return 0;
  return used_bytes > limit_bytes / 2 ? 5 : 20;
}
