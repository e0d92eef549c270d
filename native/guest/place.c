#define _GNU_SOURCE
#include "worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* What was unpacked aside is moved into place: first a look at every name that is taken, then the moves. */

struct goal {
  int to;
  bool replace;
  int depth;
};

static int in_both(int from, const char *name, const struct goal *at, walk_visit *one) {
  struct goal inner = {walk_folder(at->to, name), at->replace, at->depth + 1};
  int folder = inner.to < 0 ? -1 : walk_folder(from, name);
  int result = folder < 0 ? -1 : walk_each(folder, inner.depth, one, &inner);
  int error = errno;
  if (inner.to >= 0) close(inner.to);
  return errno = error, result;
}

static int check_one(int from, const char *name, void *about) {
  const struct goal *at = about;
  struct stat fresh, old;
  if (fstatat(from, name, &fresh, AT_SYMLINK_NOFOLLOW) < 0) return -1;
  if (fstatat(at->to, name, &old, AT_SYMLINK_NOFOLLOW) < 0) return errno == ENOENT ? 0 : -1;
  if (S_ISDIR(fresh.st_mode) && S_ISDIR(old.st_mode)) return in_both(from, name, at, check_one);
  if (at->replace && !S_ISDIR(fresh.st_mode) && !S_ISDIR(old.st_mode)) return 0;
  return errno = EEXIST, -1;
}

static int move_one(int from, const char *name, void *about) {
  const struct goal *at = about;
  struct stat fresh, old;
  if (fstatat(from, name, &fresh, AT_SYMLINK_NOFOLLOW) < 0) return -1;
  if (S_ISDIR(fresh.st_mode) && fstatat(at->to, name, &old, AT_SYMLINK_NOFOLLOW) == 0)
    return in_both(from, name, at, move_one);
  return renameat(from, name, at->to, name);
}

static int each(int from, struct goal goal, walk_visit *one) {
  int again = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* it is closed, and read from its start */
  return again < 0 ? -1 : walk_each(again, goal.depth, one, &goal);
}

int place_check(int from, int to, bool replace) { return each(from, (struct goal){to, replace, 0}, check_one); }
int place_move(int from, int to) { return each(from, (struct goal){to, true, 0}, move_one); }
