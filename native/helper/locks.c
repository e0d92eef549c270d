/* A sandbox has an owner while the flock on its `lock` file is held. */
#include "helper.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct held {
  char *folder;
  int fd;
  struct held *next;
};
static struct held *all;

static void remember(const char *folder, int fd) {
  struct held *held = malloc(sizeof *held);
  char *copy = strdup(folder);
  if (held == NULL || copy == NULL) abort();
  *held = (struct held){.folder = copy, .fd = fd, .next = all};
  all = held;
}

static bool is_held(const char *folder) {
  for (struct held *held = all; held != NULL; held = held->next)
    if (strcmp(held->folder, folder) == 0) return true;
  return false;
}

static int open_locked(const char *folder) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/lock", folder) >= (int)sizeof path) return -ENAMETOOLONG;
  int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return -errno;
  struct stat opened, named;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &opened) == 0 && lstat(path, &named) == 0) {
    if (opened.st_ino == named.st_ino && opened.st_dev == named.st_dev) return fd;
    errno = ENOENT;
  }
  int error = errno;
  close(fd);
  return -error;
}

/* The folder appears under its name with its lock already held: nobody can take it for abandoned. */
int lock_claim(const char *folder) {
  char fresh[4096];
  const char *slash = strrchr(folder, '/');
  if (slash == NULL) return EINVAL;
  if (snprintf(fresh, sizeof fresh, "%.*s/.%s", (int)(slash - folder), folder, slash + 1) >= (int)sizeof fresh)
    return ENAMETOOLONG;
  if (mkdir(fresh, 0711) != 0) return errno;
  int fd = open_locked(fresh);
  int error = fd < 0 ? -fd : rename(fresh, folder) != 0 ? errno : 0;
  if (error == 0) {
    remember(folder, fd);
    return 0;
  }
  if (fd >= 0) close(fd);
  return error;
}

int lock_take(const char *folder) {
  if (is_held(folder)) return EAGAIN;
  int fd = open_locked(folder);
  if (fd < 0) return -fd;
  remember(folder, fd);
  return 0;
}

void lock_release(const char *folder) {
  for (struct held **at = &all; *at != NULL; at = &(*at)->next) {
    if (strcmp((*at)->folder, folder) != 0) continue;
    struct held *gone = *at;
    *at = gone->next;
    flock(gone->fd, LOCK_UN); /* a verb that was begun meanwhile, and takes its time, has the descriptor too */
    close(gone->fd);
    free(gone->folder);
    free(gone);
    return;
  }
}
