#define _GNU_SOURCE
#include "worker.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Paths are opened one component at a time with O_NOFOLLOW. A symbolic link is read and walked by hand, so it can name
   nothing outside the top folder that its path begins in, and nothing under /proc. */

enum { COMPONENTS_MAX = 256, LINKS_MAX = 40 };

/* The folders that the user may write in every sandbox. No path of the file API is anywhere else, whatever the user may read
   there: a caller who may only read files gets neither /run/secrets nor the environment of a process (S6). The same list is
   in packages/server/src/core/top-folders.ts. A relative path begins in the first. */
static const char *const top_folders[] = {"/workspace", "/home/user", "/tmp", "/dev/shm"};

struct path {
  const char *top;
  char text[4][PATH_BYTES * 2]; /* storage that link targets are spliced in */
  int text_turn;
  char *part[COMPONENTS_MAX];
  int count;
};

/* Splits text into parts after position at; `..` above the top folder is refused. */
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

/* What follows the name of a top folder in an absolute path, or NULL. */
static const char *below(const char *path, const char *top) {
  size_t length = strlen(top);
  if (strncmp(path, top, length) || (path[length] && path[length] != '/')) return NULL;
  return path + length;
}

/* The path from its top folder on; an absolute path of no top folder names nothing here. */
static const char *inside(const char *path, const char **top) {
  *top = top_folders[0];
  if (path[0] != '/') return path;
  for (size_t i = 0; i < sizeof top_folders / sizeof *top_folders; i++)
    if (below(path, *top = top_folders[i])) return below(path, *top);
  return NULL;
}

static bool parse(struct path *p, const char *path) {
  const char *relative = inside(path, &p->top);
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
  const char *relative = target[0] == '/' ? below(target, p->top) : target;
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

/* Opens what was looked at a moment ago, and nothing that took its place. O_NOFOLLOW alone would not do: with
   O_DIRECTORY this gVisor follows links all the same. */
static int open_same(int folder, const char *name, int flags, const struct stat *seen) {
  struct stat info;
  int fd = open_part(folder, name, flags, 0);
  if (fd < 0) return -1;
  if (fstat(fd, &info) == 0 && info.st_dev == seen->st_dev && info.st_ino == seen->st_ino) return fd;
  close(fd);
  return errno = ELOOP, -1;
}

int walk_folder(int folder, const char *name) {
  struct stat info;
  if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) < 0) return -1;
  if (!S_ISDIR(info.st_mode)) return errno = ENOTDIR, -1;
  return open_same(folder, name, O_RDONLY | O_DIRECTORY, &info);
}

/* Opens a regular file for reading, and nothing else: opening a FIFO or a device has effects. */
int walk_file(int folder, const char *name, struct stat *info) {
  if (fstatat(folder, name, info, AT_SYMLINK_NOFOLLOW) < 0) return -1;
  if (!S_ISREG(info->st_mode)) return errno = ENXIO, -1;
  int fd = open_same(folder, name, O_RDONLY, info);
  if (fd >= 0 && fstat(fd, info) < 0) return close(fd), -1;
  return fd;
}

/* True where a name that is there cannot be opened for a reason of its own: the user may not, or another kind of file took
   its place. ENOENT means that it is gone. Any other error says nothing about the name (EMFILE, ENOMEM, EIO): to pass over it
   would be to report a tree that is not the one on the disk (S90). */
bool walk_shut(int error) {
  return error == EACCES || error == EPERM || error == ELOOP || error == ENOTDIR || error == ENXIO;
}

/* Shows every name in a folder, which it closes, until one is answered with other than 0; that is returned. A folder that
   cannot be read to its end is -1. */
int walk_each(int folder, int depth, walk_visit *one, void *about) {
  DIR *list = depth > DEPTH_MAX ? (errno = ENAMETOOLONG, NULL) : fdopendir(folder);
  struct dirent *entry;
  int result = list ? 0 : -1;
  while (result == 0 && (errno = 0, entry = readdir(list)))
    if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) result = one(folder, entry->d_name, about);
  int error = errno;
  if (result == 0 && error) result = -1;
  if (list) closedir(list);
  else close(folder);
  return errno = error, result;
}

/* Opens the folder of all parts but the last `keep`, following links inside the top folder. */
static int walk_folders(struct path *p, int keep, bool make) {
  int links = 0;
restart:;
  int folder = open_part(AT_FDCWD, p->top, O_RDONLY | O_DIRECTORY, 0);
  for (int i = 0; folder >= 0 && i < p->count - keep; i++) {
    struct stat info;
    int next = -1;
    bool link = false;
    if (make && mkdirat(folder, p->part[i], 0755) < 0 && errno != EEXIST) goto failed;
    if (fstatat(folder, p->part[i], &info, AT_SYMLINK_NOFOLLOW) < 0) goto failed;
    if ((link = S_ISLNK(info.st_mode)) && (++links > LINKS_MAX || !splice_link(p, folder, i))) {
      if (links > LINKS_MAX) errno = ELOOP;
      goto failed;
    }
    if (!link && (next = open_same(folder, p->part[i], O_RDONLY | O_DIRECTORY, &info)) < 0) goto failed;
    close(folder);
    if (link) goto restart;
    folder = next;
    continue;
  failed:;
    int error = errno;
    close(folder);
    return errno = error, -1;
  }
  return folder;
}

/* The folder that holds the last component, whose name is copied to last (NAME_MAX + 1 bytes). */
int walk_parent(const char *path, bool make_parents, char *last) {
  static struct path p;
  if (!parse(&p, path)) return -1;
  if (p.count == 0) return errno = EBUSY, -1; /* the top folder itself */
  int folder = walk_folders(&p, 1, make_parents);
  if (folder < 0) return -1;
  if (p.count == 0 || strlen(p.part[p.count - 1]) > 255) {
    close(folder);
    return errno = ENAMETOOLONG, -1;
  }
  strcpy(last, p.part[p.count - 1]);
  return folder;
}

/* The top folder that a path begins in. */
int walk_top(const char *path) {
  const char *top;
  if (!inside(path, &top)) return errno = EXDEV, -1;
  return open_part(AT_FDCWD, top, O_RDONLY | O_DIRECTORY, 0);
}

/* Opens an existing file or folder for reading; a link as the last component is followed inside the top folder. */
int walk_open(const char *path, int flags) {
  static struct path p;
  if (!parse(&p, path)) return -1;
  for (int links = 0; links <= LINKS_MAX; links++) {
    struct stat info;
    int folder = walk_folders(&p, 1, false), fd = -1;
    if (folder < 0 || p.count == 0) return folder;
    const char *last = p.part[p.count - 1];
    bool found = fstatat(folder, last, &info, AT_SYMLINK_NOFOLLOW) == 0, again = false;
    if (found && S_ISLNK(info.st_mode)) again = splice_link(&p, folder, p.count - 1);
    else if (found) fd = open_same(folder, last, flags, &info);
    int error = errno;
    close(folder);
    if (!again) return errno = error, fd;
  }
  return errno = ELOOP, -1;
}
