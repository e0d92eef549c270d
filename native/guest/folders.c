#define _GNU_SOURCE
#include "untar.h"

#include <fcntl.h>
#include <unistd.h>

/* What unpacking and restoring share: folders on the way to a name, and their own modes and times. */

struct folder_row {
  uint32_t mode, name_size;
  struct timespec mtime;
};

static int folder_rows = -1;

int set_time(int fd, int folder, const char *name, struct timespec mtime) {
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, mtime};
  return fd >= 0 ? futimens(fd, times) : utimensat(folder, name, times, AT_SYMLINK_NOFOLLOW);
}

int open_parent(int root, const char *name, bool make, const char **last) {
  int folder = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (const char *slash; folder >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
    char part[256];
    memcpy(part, name, (size_t)(slash - name));
    part[slash - name] = 0;
    if (make && mkdirat(folder, part, 0755) < 0 && errno != EEXIST) return close(folder), -1;
    int next = walk_folder(folder, part), error = errno;
    close(folder);
    folder = (errno = error, next);
  }
  *last = name;
  return folder;
}

int folders_open(int folder, const char *name) {
  folder_rows = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  return folder_rows;
}

int folders_add(const struct untar_entry *entry) {
  struct folder_row row = {entry->mode, (uint32_t)strlen(entry->name), entry->mtime};
  return write_all(folder_rows, entry->name, row.name_size) < 0 ? -1 : write_all(folder_rows, &row, sizeof row);
}

/* From the last row to the first, so that a folder is closed to us only after those in it. */
int folders_finish(int target) {
  char name[PATH_BYTES];
  struct folder_row row;
  const char *last;
  for (off_t at = lseek(folder_rows, 0, SEEK_END); at >= (off_t)sizeof row;) {
    at -= (off_t)sizeof row;
    if (pread(folder_rows, &row, sizeof row, at) != sizeof row || row.name_size >= sizeof name) return errno = EIO, -1;
    at -= row.name_size;
    if (pread(folder_rows, name, row.name_size, at) != (ssize_t)row.name_size) return errno = EIO, -1;
    name[row.name_size] = 0;
    int parent = open_parent(target, name, false, &last);
    int fd = parent < 0 ? -1 : walk_folder(parent, last), error = errno;
    if (parent >= 0) close(parent);
    if (fd < 0 && (error == ENOENT || walk_shut(error))) continue; /* user code took it away meanwhile */
    if (fd < 0) return errno = error, -1;
    fchmod(fd, row.mode);
    set_time(fd, -1, "", row.mtime);
    close(fd);
  }
  return 0;
}
