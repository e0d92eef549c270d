#define _GNU_SOURCE
#include "worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Files of the owner's in /run, which user code can read and not change: their owner is root, and this worker is root without
   any capability (hazard 27). User code can make nothing in /run, so its names lead nowhere else. */

enum { NAME_BYTES = 200 };

static bool is_plain(const char *name) {
  return *name && *name != '.' && strlen(name) <= NAME_BYTES && !strchr(name, '/');
}

static int folder_of(const char *path, const char **name) {
  static const char *const folders[] = {"secrets", "caisson"};
  int run = open("/run", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (run < 0) return -1;
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    size_t size = strlen(folders[i]);
    if (strncmp(path, folders[i], size) || path[size] != '/' || !is_plain(path + size + 1)) continue;
    *name = path + size + 1;
    if (mkdirat(run, folders[i], 0755) < 0 && errno != EEXIST) return -1;
    return openat(run, folders[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  }
  return errno = EINVAL, -1;
}

/* A reader finds the old file or the new one, whole. */
int deliver(const struct spec *spec) {
  static char buffer[64 * 1024];
  const char *name;
  char fresh[NAME_BYTES + 16];
  int folder = folder_of(spec->path, &name);
  if (folder < 0) return -1;
  if (spec->flags & FLAG_GONE) return unlinkat(folder, name, 0) < 0 && errno != ENOENT ? -1 : 0;
  snprintf(fresh, sizeof fresh, ".%s", name);
  unlinkat(folder, fresh, 0);
  int fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  ssize_t size = 0;
  while (!aborted && (size = read(IN, buffer, sizeof buffer)) > 0)
    if (write_all(fd, buffer, (size_t)size) < 0) break;
  int error = aborted ? ECANCELED : size == 0 ? 0 : errno;
  if (!error && (fchmod(fd, 0440) < 0 || close(fd) < 0 || renameat(folder, fresh, folder, name) < 0)) error = errno;
  if (error) unlinkat(folder, fresh, 0);
  return error ? (errno = error, -1) : 0;
}
