#define _GNU_SOURCE
#include "untar.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* An archive goes into a folder aside, in the top folder of its target, and is moved into place when it is whole: what is
   refused leaves nothing (FIL-04). The folder's name is the host's, which removes it when this worker is killed. */

static uint64_t entries, total;

static int unpack_file(int folder, const char *last, const struct untar_entry *entry) {
  static char buffer[64 * 1024];
  int fd = openat(folder, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  ssize_t size;
  int result = 0;
  while (result == 0 && (size = untar_read(buffer, sizeof buffer)) != 0)
    result = size < 0 ? -1 : write_all(fd, buffer, (size_t)size);
  if (result == 0) result = fchmod(fd, entry->mode);
  if (result == 0) result = set_time(fd, -1, "", entry->mtime);
  int error = errno;
  if (close(fd) < 0 && result == 0) return -1;
  return errno = error, result;
}

static int unpack_hard_link(int root, int folder, const char *last, const struct untar_entry *entry) {
  const char *of;
  struct stat info;
  int from = open_parent(root, entry->target, false, &of);
  if (from < 0 || fstatat(from, of, &info, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(info.st_mode)) {
    if (from >= 0) close(from);
    return refuse(EBADMSG, "\"%.200s\" is a link to \"%.200s\", which is no earlier file", entry->name, entry->target);
  }
  int result = linkat(from, of, folder, last, 0), error = errno;
  close(from);
  return errno = error, result;
}

static int unpack_folder(int folder, const char *last, const struct untar_entry *entry) {
  struct stat info;
  if (mkdirat(folder, last, 0755) < 0) {
    if (errno != EEXIST || fstatat(folder, last, &info, AT_SYMLINK_NOFOLLOW) < 0) return -1;
    if (!S_ISDIR(info.st_mode)) return errno = EEXIST, -1;
  }
  return folders_add(entry);
}

static int unpack_entry(int root, const struct untar_entry *entry) {
  const char *last;
  int result = -1, folder = open_parent(root, entry->name, true, &last);
  if (folder < 0 && (errno == ENOTDIR || errno == ELOOP))
    return refuse(EBADMSG, "\"%.200s\" goes through a link or a file", entry->name);
  if (folder < 0) return -1;
  if (entry->type == TAR_FILE) result = unpack_file(folder, last, entry);
  else if (entry->type == TAR_FOLDER) result = unpack_folder(folder, last, entry);
  else if (entry->type == TAR_HARD_LINK) result = unpack_hard_link(root, folder, last, entry);
  else if ((result = symlinkat(entry->target, folder, last)) == 0) set_time(-1, folder, last, entry->mtime);
  int error = errno;
  close(folder);
  if (result < 0 && error == EEXIST) return refuse(EBADMSG, "\"%.200s\" is in it twice", entry->name);
  return errno = error, result;
}

static int count_entry(const struct untar_entry *entry, const struct spec *limits) {
  if (++entries > limits->count) return refuse(EOVERFLOW, "it has more than %llu entries", (unsigned long long)limits->count);
  if (entry->size > limits->length - total)
    return refuse(EOVERFLOW, "it unpacks to more than %llu bytes", (unsigned long long)limits->length);
  total += entry->size;
  return 0;
}

static int unpack_all(int root, const struct spec *spec) {
  static struct untar_entry entry;
  int more;
  while ((more = untar_next(&entry, spec)) > 0) {
    if (count_entry(&entry, spec) < 0) return -1;
    if (entry.depth > 0 && unpack_entry(root, &entry) < 0) return -1;
  }
  if (more == 0 && aborted) return errno = ECANCELED, -1;
  return more;
}

static int make_target(const char *path) {
  char last[256];
  int folder = walk_open(path, O_RDONLY | O_DIRECTORY);
  if (folder >= 0 || errno != ENOENT) return folder;
  int parent = walk_parent(path, true, last);
  if (parent < 0) return -1;
  int result = mkdirat(parent, last, 0755), error = errno;
  close(parent);
  return result < 0 && error != EEXIST ? (errno = error, -1) : walk_open(path, O_RDONLY | O_DIRECTORY);
}

static int place(int root, const struct spec *spec) {
  int target = walk_open(spec->path, O_RDONLY | O_DIRECTORY);
  if (target < 0 && errno != ENOENT) return -1;
  if (target >= 0 && place_check(root, target, spec->flags & FLAG_REPLACE) < 0) {
    return errno == EEXIST ? refuse(EEXIST, "a file of it is there already") : -1;
  }
  if (target < 0 && (target = make_target(spec->path)) < 0) return -1;
  if (place_move(root, target) < 0) return -1;
  return folders_finish(target);
}

static int open_rows(int top, const char *aside) {
  char name[256];
  if ((size_t)snprintf(name, sizeof name, "%s/rows", aside) >= sizeof name) return errno = ENAMETOOLONG, -1;
  return folders_open(top, name);
}

int unpack(const struct spec *spec) {
  const char *aside = spec->target;
  if (!aside[0] || strchr(aside, '/')) return errno = EINVAL, -1;
  int top = walk_top(spec->path);
  int target = walk_open(spec->path, O_RDONLY | O_DIRECTORY);
  if (target < 0 && errno != ENOENT) return -1; /* told before the archive is read */
  close(target);
  if (top < 0 || mkdirat(top, aside, 0700) < 0) return -1;
  int outer = walk_folder(top, aside), root = -1, result = -1;
  if (outer >= 0 && mkdirat(outer, "tree", 0700) == 0 && (root = walk_folder(outer, "tree")) >= 0 &&
      open_rows(top, aside) >= 0 && unpack_all(root, spec) == 0)
    result = place(root, spec);
  int error = errno;
  remove_tree(top, aside, 0);
  return errno = error, result;
}
