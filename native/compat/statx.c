/* gVisor releases of 2022 answer EINVAL to AT_NO_AUTOMOUNT, which coreutils sets on every path: ls and stat would fail.
   There is nothing to automount in a sandbox, so the flag is left out. Preloaded under gVisor only. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int statx(int folder, const char *restrict path, int flags, unsigned mask, struct statx *restrict info) {
  return (int)syscall(SYS_statx, folder, path, flags & ~AT_NO_AUTOMOUNT, mask, info);
}
