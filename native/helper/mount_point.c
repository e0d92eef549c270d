/* Apart, since the kernel's stat header and musl's do not go together. */
#include <fcntl.h>
#include <linux/stat.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif
#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000
#endif

bool is_mount_point(int fd);

bool is_mount_point(int fd) {
  struct statx info = {0};
  if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, 0, &info) != 0) return false;
  return (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}
