#define _GNU_SOURCE
#include "worker.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What was unpacked aside is moved into place: first a look at every name that is taken, then the moves. */

typedef int visit(int from, int to, const char *name, bool replace, int depth);

static int each(int from, int to, visit *one, bool replace, int depth) {
  if (depth > DEPTH_MAX) return errno = ENAMETOOLONG, -1;
  int again = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = again < 0 ? NULL : fdopendir(again);
  if (!list) return -1;
  struct dirent *entry;
  int result = 0;
  while (result == 0 && (entry = readdir(list)))
    if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
      result = one(from, to, entry->d_name, replace, depth);
  int error = errno;
  closedir(list);
  return errno = error, result;
}

static int in_both(int from, int to, const char *name, visit *one, bool replace, int depth) {
  int inner_from = walk_folder(from, name), inner_to = walk_folder(to, name);
  int result = inner_from < 0 || inner_to < 0 ? -1 : each(inner_from, inner_to, one, replace, depth + 1);
  int error = errno;
  if (inner_from >= 0) close(inner_from);
  if (inner_to >= 0) close(inner_to);
  return errno = error, result;
}

static int check_one(int from, int to, const char *name, bool replace, int depth) {
  struct stat fresh, old;
  if (fstatat(from, name, &fresh, AT_SYMLINK_NOFOLLOW) < 0) return -1;
  if (fstatat(to, name, &old, AT_SYMLINK_NOFOLLOW) < 0) return errno == ENOENT ? 0 : -1;
  if (S_ISDIR(fresh.st_mode) && S_ISDIR(old.st_mode)) return in_both(from, to, name, check_one, replace, depth);
  if (replace && !S_ISDIR(fresh.st_mode) && !S_ISDIR(old.st_mode)) return 0;
  return errno = EEXIST, -1;
}

static int move_one(int from, int to, const char *name, bool replace, int depth) {
  struct stat fresh, old;
  if (fstatat(from, name, &fresh, AT_SYMLINK_NOFOLLOW) < 0) return -1;
  if (S_ISDIR(fresh.st_mode) && fstatat(to, name, &old, AT_SYMLINK_NOFOLLOW) == 0)
    return in_both(from, to, name, move_one, replace, depth);
  return renameat(from, name, to, name);
}

int place_check(int from, int to, bool replace, int depth) { return each(from, to, check_one, replace, depth); }
int place_move(int from, int to, int depth) { return each(from, to, move_one, true, depth); }
