#define _GNU_SOURCE
#include "untar.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Makes the workspace what a snapshot says, from an archive of the host's own making (FLAG_EXACT): removals, folders,
   files and links, in this order. Rights that the user has taken from itself on a folder are given back while the work
   goes on; the folder's own mode comes last. Names in the way of others go, and nothing outside the workspace is
   reached: links are never followed, and a worker has no more rights than the user. */

enum { HOLE_BYTES = 4096 };

static char temporary[64];

static int clear(int folder, const char *name, int depth);

static int clear_one(int folder, const char *name, void *depth) {
  return aborted ? (errno = ECANCELED, -1) : clear(folder, name, *(int *)depth);
}

static int unlink_name(int folder, const char *name) {
  struct stat info;
  if (unlinkat(folder, name, 0) == 0) return 0;
  if (errno != EACCES || fstat(folder, &info) < 0 || fchmod(folder, info.st_mode | 0700) < 0) return -1;
  return unlinkat(folder, name, 0);
}

/* Removes a name and what is under it, folders closed to the user too. A name that is not there is no error. */
static int clear(int folder, const char *name, int depth) {
  if (unlink_name(folder, name) == 0 || errno == ENOENT) return 0;
  if (errno != EISDIR && errno != EPERM) return -1;
  if (unlinkat(folder, name, AT_REMOVEDIR) == 0) return 0;
  if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES) return -1;
  fchmodat(folder, name, 0700, 0);
  int inner = walk_folder(folder, name), below = depth + 1;
  if (inner < 0 || walk_each(inner, depth, clear_one, &below) < 0) return -1;
  return unlinkat(folder, name, AT_REMOVEDIR);
}

/* Puts what has the temporary name in the place of another; a folder there goes first. */
static int put(int folder, const char *name) {
  if (renameat(folder, temporary, folder, name) == 0) return 0;
  if (errno != EISDIR && errno != ENOTEMPTY && errno != EEXIST) return -1;
  return clear(folder, name, 0) < 0 ? -1 : renameat(folder, temporary, folder, name);
}

static bool is_hole(const char *bytes, size_t size) { return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0; }

/* Blocks of zeros become holes: a sparse file must fit where it came from. */
static int write_blocks(int fd, const char *bytes, size_t size) {
  while (size > 0) {
    size_t block = size < HOLE_BYTES ? size : HOLE_BYTES;
    if (is_hole(bytes, block) ? lseek(fd, (off_t)block, SEEK_CUR) < 0 : write_all(fd, bytes, block) < 0) return -1;
    bytes += block;
    size -= block;
  }
  return 0;
}

static int restore_file(int folder, const char *last, const struct untar_entry *entry) {
  static char buffer[64 * 1024];
  int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  ssize_t size;
  int result = 0;
  while (result == 0 && (size = untar_read(buffer, sizeof buffer)) != 0)
    result = size < 0 ? -1 : write_blocks(fd, buffer, (size_t)size);
  if (result == 0) result = ftruncate(fd, (off_t)entry->size);
  if (result == 0) result = fchmod(fd, entry->mode);
  if (result == 0) result = set_time(fd, -1, "", entry->mtime);
  int error = errno;
  if (close(fd) < 0 && result == 0) return -1;
  return result < 0 ? (errno = error, -1) : put(folder, last);
}

static int restore_link(int folder, const char *last, const struct untar_entry *entry) {
  if (symlinkat(entry->target, folder, temporary) < 0) return -1;
  set_time(-1, folder, temporary, entry->mtime);
  return put(folder, last);
}

static int restore_hard_link(int root, int folder, const char *last, const struct untar_entry *entry) {
  const char *of;
  int from = open_parent(root, entry->target, false, &of);
  if (from < 0) return -1;
  int result = clear(folder, last, 0) < 0 ? -1 : linkat(from, of, folder, last, 0), error = errno;
  close(from);
  return errno = error, result;
}

static int restore_folder(int folder, const char *last, const struct untar_entry *entry) {
  struct stat info;
  bool there = fstatat(folder, last, &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && !S_ISDIR(info.st_mode)) {
    if (unlinkat(folder, last, 0) < 0) return -1;
    there = false;
  }
  if (there ? (info.st_mode & 0700) != 0700 && fchmodat(folder, last, info.st_mode | 0700, 0) < 0
            : mkdirat(folder, last, 0700) < 0)
    return -1;
  return folders_add(entry);
}

/* The bytes are right already. */
static int restore_change(int folder, const char *last, const struct untar_entry *entry) {
  struct stat info;
  if (fstatat(folder, last, &info, AT_SYMLINK_NOFOLLOW) < 0) return -1;
  if (!S_ISLNK(info.st_mode) && fchmodat(folder, last, entry->mode, 0) < 0) return -1;
  return set_time(-1, folder, last, entry->mtime);
}

static int restore_entry(int root, const struct untar_entry *entry) {
  const char *last;
  int result = -1, folder = open_parent(root, entry->name, false, &last);
  if (folder < 0) return entry->type == TAR_REMOVAL && (errno == ENOENT || errno == ENOTDIR) ? 0 : -1;
  if (entry->type == TAR_FILE) result = restore_file(folder, last, entry);
  else if (entry->type == TAR_FOLDER) result = restore_folder(folder, last, entry);
  else if (entry->type == TAR_LINK) result = restore_link(folder, last, entry);
  else if (entry->type == TAR_HARD_LINK) result = restore_hard_link(root, folder, last, entry);
  else if (entry->type == TAR_CHANGE) result = restore_change(folder, last, entry);
  else result = clear(folder, last, 0);
  int error = errno;
  if (result < 0) unlinkat(folder, temporary, 0);
  close(folder);
  return errno = error, result;
}

/* What could not be made is named on the output, after which the host says so. */
static int failed(const struct untar_entry *entry) {
  int error = errno;
  write_all(OUT, entry->name, strlen(entry->name));
  return errno = error, -1;
}

static int restore_all(int root, const struct spec *spec) {
  static struct untar_entry entry;
  int more;
  while ((more = untar_next(&entry, spec)) > 0)
    if (entry.depth > 0 && restore_entry(root, &entry) < 0) return failed(&entry);
  if (more == 0 && aborted) return errno = ECANCELED, -1;
  return more;
}

/* The host says how far the work goes past what it frees. It is refused before anything is removed. */
static bool fits(int root, const struct spec *spec) {
  struct statvfs room;
  return spec->length == 0 || fstatvfs(root, &room) < 0 || spec->length <= room.f_bavail * room.f_frsize;
}

int restore(const struct spec *spec) {
  struct stat info;
  int root = walk_open("", O_RDONLY | O_DIRECTORY);
  if (root < 0 || fstat(root, &info) < 0) return -1;
  if (!fits(root, spec)) return errno = ENOSPC, -1;
  if ((info.st_mode & 0700) != 0700 && fchmod(root, info.st_mode | 0700) < 0) return -1;
  snprintf(temporary, sizeof temporary, ".caisson-restore-%d", getpid());
  if (folders_open(root, temporary) < 0 || unlinkat(root, temporary, 0) < 0) return -1;
  int result = restore_all(root, spec), error = errno;
  /* Also after a failure: folders that were opened for the work are closed again. */
  if (folders_finish(root) < 0 && result == 0) return -1;
  return errno = error, result;
}
