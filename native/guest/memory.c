#include "guest.h"

#include <sys/sysinfo.h>

/* Under gVisor the kernel that runs user code is the sentry, and a cgroup that fires takes all of it. So the limit is
   enforced here, below the cgroup's: the sentry's own count of what it holds (anonymous, tmpfs, page cache) is what
   sysinfo() tells (SBX-07, hazard 7). */

static uint64_t limit_bytes, baseline_bytes, used_bytes, looked_ms;

static uint64_t measure(void) {
  struct sysinfo info;
  if (sysinfo(&info) < 0) die("sysinfo");
  return (uint64_t)(info.totalram - info.freeram) * info.mem_unit;
}

void memory_limit(uint64_t bytes) {
  limit_bytes = bytes;
  if (bytes && !baseline_bytes) baseline_bytes = measure();
}

/* What all of user code holds; 0 where nothing is watched. */
uint64_t memory_used_bytes(void) {
  uint64_t total = limit_bytes ? measure() : 0;
  return total > baseline_bytes ? total - baseline_bytes : 0;
}

/* The nearer the limit, the closer the look. */
static uint64_t next_look_ms(void) { return looked_ms + (used_bytes > limit_bytes / 2 ? 5 : 20); }

/* Looks only where it is due: a busy loop turns often. */
bool memory_exceeded(void) {
  uint64_t now = now_ms();
  if (!limit_bytes || now < next_look_ms()) return false;
  looked_ms = now;
  if (warm_leaving(now)) return false;
  used_bytes = memory_used_bytes();
  return used_bytes > limit_bytes;
}

/* Until the next look; -1 where nothing is watched. */
int memory_wait_ms(void) {
  uint64_t now = now_ms(), due = next_look_ms();
  if (!limit_bytes) return -1;
  return due > now ? (int)(due - now) : 0;
}
