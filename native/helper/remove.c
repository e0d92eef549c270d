/*
 * Removes a sandbox's folder for an ordinary user, who may not remove what its sandboxes' users own. The tree is hostile
 * and at rest: one directory descriptor at a time, never through a link, and of any depth.
 */
#include "helper.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct level {
  char *name; /* in its parent */
  ino_t ino;
  dev_t dev;
  struct level *up;
};

static int open_folder(int parent, const char *name) {
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) fail("cannot open %s", name);
  return fd;
}

static struct level *enter(struct level *up, const char *name, int fd) {
  struct stat info;
  struct level *level = calloc(1, sizeof *level);
  char *copy = strdup(name);
  if (level == NULL || copy == NULL) fail_with(ENOMEM, "no memory");
  if (fstat(fd, &info) != 0) fail("cannot read %s", name);
  *level = (struct level){.name = copy, .ino = info.st_ino, .dev = info.st_dev, .up = up};
  return level;
}

/* Unlinks what can be; the name of a folder that must be emptied first, or null. */
char *unlink_entries(int fd) {
  int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = own < 0 ? NULL : fdopendir(own);
  char *folder = NULL;
  if (list == NULL) fail("cannot list a folder");
  for (struct dirent *entry; folder == NULL && (errno = 0, entry = readdir(list)) != NULL;) {
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || unlinkat(fd, name, 0) == 0) continue;
    if (errno != EISDIR && errno != EPERM) fail("cannot remove %s", name);
    if (unlinkat(fd, name, AT_REMOVEDIR) == 0) continue;
    if (errno != ENOTEMPTY && errno != EEXIST) fail("cannot remove %s", name);
    folder = strdup(name);
    if (folder == NULL) fail_with(ENOMEM, "no memory");
  }
  if (folder == NULL && errno != 0) fail("cannot list a folder");
  closedir(list);
  return folder;
}

/* Whoever owned it may have written there until a moment ago: a folder that is not empty any more is emptied again. */
static void check_again(const char *name) {
  enum { AGAIN_MOST = 100 };
  static int again;
  if ((errno != ENOTEMPTY && errno != EEXIST) || ++again > AGAIN_MOST) fail("cannot remove %s", name);
}

static int leave(struct level **level, int fd) {
  struct level *gone = *level;
  struct stat info;
  int parent = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  *level = gone->up;
  if (parent < 0 || fstat(parent, &info) != 0) fail("cannot go up");
  if (info.st_ino != gone->up->ino || info.st_dev != gone->up->dev) fail_with(EAGAIN, "a folder was moved");
  if (unlinkat(parent, gone->name, AT_REMOVEDIR) != 0) check_again(gone->name);
  close(fd);
  free(gone->name);
  free(gone);
  return parent;
}

void verb_remove(const struct request *request) {
  const char *folder = request_text(request, "folder");
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) reply_ok("removed=1");
  if (fd < 0) fail("cannot open %s", folder);
  struct level *level = enter(NULL, folder, fd);
  for (;;) {
    char *name = unlink_entries(fd);
    if (name != NULL) {
      int inner = open_folder(fd, name);
      level = enter(level, name, inner);
      close(fd);
      fd = inner;
      free(name);
    } else if (level->up != NULL) {
      fd = leave(&level, fd);
    } else if (rmdir(folder) == 0 || errno == ENOENT) {
      break;
    } else {
      check_again(folder);
    }
  }
  reply_ok("removed=1");
}
