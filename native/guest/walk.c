#define _GNU_SOURCE
#include "guest.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Paths are opened one component at a time with O_NOFOLLOW. A symbolic link is read and walked by hand, so it can name
   nothing above the workspace, and nothing under /proc. gVisor has no openat2; this is the same on both engines. */

enum { COMPONENTS_MAX = 256, LINKS_MAX = 40 };
static const char workspace[] = "/workspace";

struct path {
  char text[4][PATH_BYTES * 2]; /* storage that link targets are spliced in */
  int text_turn;
  char *part[COMPONENTS_MAX];
  int count;
};

/* Splits text into parts after position at; `..` above the workspace is refused. */
static bool split(struct path *p, char *text, int at) {
  p->count = at;
  for (char *save = NULL, *part = strtok_r(text, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
    if (!strcmp(part, ".")) continue;
    if (!strcmp(part, "..")) {
      if (p->count == 0) return errno = EXDEV, false;
      p->count--;
      continue;
    }
    if (p->count == COMPONENTS_MAX) return errno = ENAMETOOLONG, false;
    p->part[p->count++] = part;
  }
  return true;
}

/* Strips the workspace's own name from an absolute path; another absolute path names nothing here. */
static const char *inside(const char *path) {
  size_t length = sizeof workspace - 1;
  if (path[0] != '/') return path;
  if (strncmp(path, workspace, length) || (path[length] && path[length] != '/')) return NULL;
  return path + length;
}

static bool parse(struct path *p, const char *path) {
  const char *relative = inside(path);
  if (!relative) return errno = EXDEV, false;
  if (strlen(relative) >= PATH_BYTES) return errno = ENAMETOOLONG, false;
  p->text_turn = 0;
  strcpy(p->text[0], relative);
  return split(p, p->text[0], 0);
}

/* Replaces part i, a link in folder, by its target. */
static bool splice_link(struct path *p, int folder, int i) {
  char target[PATH_BYTES];
  ssize_t size = readlinkat(folder, p->part[i], target, sizeof target - 1);
  if (size < 0) return false;
  target[size] = 0;
  const char *relative = inside(target);
  if (!relative) return errno = EXDEV, false;
  char *text = p->text[p->text_turn = (p->text_turn + 1) % 4];
  size_t used = 0;
  /* Everything is copied, so that no part points into storage that is written again. */
  int first = target[0] == '/' ? i : 0;
  for (int j = first; j < p->count; j++) {
    const char *piece = j == i ? relative : p->part[j];
    size_t length = strlen(piece);
    if (used + length + 2 > PATH_BYTES * 2) return errno = ENAMETOOLONG, false;
    memcpy(text + used, piece, length);
    used += length;
    text[used++] = '/';
  }
  text[used] = 0;
  return split(p, text, 0);
}

static int open_part(int folder, const char *name, int flags, mode_t mode) {
  return openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);
}

static bool is_link(int folder, const char *name) {
  struct stat info;
  return fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode);
}

/* Opens the folder of the first `count` parts, following links inside the workspace. */
static int walk_folders(struct path *p, int keep_last, bool make) {
  for (int links = 0;;) {
    int folder = open_part(AT_FDCWD, workspace, O_RDONLY | O_DIRECTORY, 0), i = 0;
    for (; folder >= 0 && i < p->count - keep_last; i++) {
      if (make && mkdirat(folder, p->part[i], 0755) < 0 && errno != EEXIST) goto failed;
      int next = open_part(folder, p->part[i], O_RDONLY | O_DIRECTORY, 0);
      if (next < 0 && (errno == ELOOP || errno == ENOTDIR) && is_link(folder, p->part[i])) break;
      if (next < 0) goto failed;
      close(folder);
      folder = next;
    }
    if (folder < 0 || i >= p->count - keep_last) return folder;
    bool spliced = ++links <= LINKS_MAX ? splice_link(p, folder, i) : (errno = ELOOP, false);
    int error = errno;
    close(folder);
    if (!spliced) return errno = error, -1;
    continue;
  failed:
    error = errno;
    close(folder);
    return errno = error, -1;
  }
}

/* The folder that holds the last component, whose name is copied to last (NAME_MAX + 1 bytes). */
int walk_parent(const char *path, bool make_parents, char *last) {
  static struct path p;
  if (!parse(&p, path)) return -1;
  if (p.count == 0) return errno = EBUSY, -1; /* the workspace itself */
  int folder = walk_folders(&p, 1, make_parents);
  if (folder < 0) return -1;
  if (p.count == 0 || strlen(p.part[p.count - 1]) > 255) {
    close(folder);
    return errno = ENAMETOOLONG, -1;
  }
  strcpy(last, p.part[p.count - 1]);
  return folder;
}

/* Opens what path names; a link as the last component is followed inside the workspace. */
int walk_open(const char *path, int flags, mode_t mode) {
  static struct path p;
  if (!parse(&p, path)) return -1;
  for (int links = 0; links <= LINKS_MAX; links++) {
    int folder = walk_folders(&p, 1, false);
    if (folder < 0) return -1;
    if (p.count == 0) return folder;
    int fd = open_part(folder, p.part[p.count - 1], flags, mode), error = errno;
    bool link = fd < 0 && (error == ELOOP || error == ENOTDIR) && is_link(folder, p.part[p.count - 1]);
    if (link && !splice_link(&p, folder, p.count - 1)) error = errno, link = false;
    close(folder);
    if (!link) return errno = error, fd;
  }
  return errno = ELOOP, -1;
}
