/* The wire: two FIFOs, and the trays beside them. They belong to the owner; the runtime gets descriptors of its own open()
   (hazards 3, 4, 10). */
#include "helper.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TO_GUEST_BYTES = 1024 * 1024, FROM_GUEST_BYTES = 1024 * 1024, LEAST_BYTES = 64 * 1024, TRAYS_BYTES = 2 * 1024 * 1024 };

static int make(const struct launch *launch, const char *path, int bytes, bool there) {
  struct stat info;
  if (!there && mkfifo(path, 0600) != 0) fail("cannot make %s", path);
  int fd = open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &info) != 0) fail("cannot open %s", path);
  if (!S_ISFIFO(info.st_mode)) fail_with(EINVAL, "%s is not a FIFO", path);
  if (fchown(fd, launch->owner_uid, launch->owner_gid) != 0) fail("cannot give %s to its owner", path);
  /* Past the system's budget of pipe pages the FIFO is smaller, and works. */
  while (bytes > LEAST_BYTES && fcntl(fd, F_SETPIPE_SZ, bytes) < 0) bytes /= 2;
  return fd;
}

/* Below a folder where anybody writes: it is used if it is this user's alone. */
static int open_own(const char *path) {
  struct stat info;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || (fstat(fd, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & 022) == 0)) return fd;
  close(fd);
  return -1;
}

static bool is_mounted(int folder) {
  struct stat own, above;
  return fstat(folder, &own) == 0 && fstatat(folder, "..", &above, 0) == 0 && own.st_dev != above.st_dev;
}

static bool is_empty(int folder) {
  int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = fd < 0 ? NULL : fdopendir(fd);
  if (list == NULL) return false;
  int names = 0;
  while (names <= 2 && readdir(list) != NULL) names++;
  closedir(list);
  return names == 2; /* itself, and what is above it */
}

/* The folder is in memory, where nobody waits for a disk. Root's is a file system of its own whose files are large pages, which
   take less than half the time to write; /dev/shm has small ones. It stays for whoever comes next. Several may want to be first, and
   what lies there already must stay to be seen. */
void wire_prepare_trays(const char *path) {
  mkdir(path, 0711);
  int folder = open_own(path);
  if (folder < 0) return;
  if (!rootless() && flock(folder, LOCK_EX | LOCK_NB) == 0) {
    int now = open_own(path); /* somebody may have been faster than the lock */
    if (now >= 0 && !is_mounted(now) && is_empty(now))
      mount("tmpfs", format_text("/proc/self/fd/%d", now), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "huge=always,mode=0711");
    if (now >= 0) close(now);
  }
  close(folder);
}

static bool leads_to(const char *link, int fd) {
  struct stat there, own;
  return stat(link, &there) == 0 && fstat(fd, &own) == 0 && there.st_dev == own.st_dev && there.st_ino == own.st_ino;
}

/* The owner opens what the link leads to: it is there only if the folder is this user's alone and the file was made in it. */
static int make_new_trays(const char *in, const char *name, const char *link) {
  int folder = open_own(in);
  if (folder < 0) return -1;
  if (symlink(format_text("%s/%s", in, name), link) != 0) fail("cannot make %s", link);
  int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_CREAT | O_EXCL, 0600);
  if (fd >= 0 && !leads_to(link, fd)) { /* somebody has mounted something over the folder */
    unlinkat(folder, name, 0);
    close(fd);
    fd = -1;
  }
  if (fd < 0 && unlink(link) != 0) fail("cannot remove %s", link);
  close(folder);
  return fd;
}

/* Of the same sandbox before it was saved, where it had some. */
static int open_former_trays(const char *in, const char *link) {
  char target[PATH_MAX];
  ssize_t size = readlink(link, target, sizeof target - 1);
  if (size < 0) return -1;
  target[size] = '\0';
  const char *name = strrchr(target, '/');
  int folder = open_own(in);
  int fd = name == NULL ? -1 : openat(folder, name + 1, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (folder >= 0) close(folder);
  if (fd < 0) fail("the trays are gone from %s", in); /* the owner still has them */
  return fd;
}

/* Where the owner lays large pieces, which the wire then tells of. The guest can only read it, and finds all of it there. A link leads
   the owner to it, and whoever removes it. On a host that has no place for it the wire works without: -1. */
static int make_trays(const struct launch *launch, const char *link, bool there) {
  const char *in = request_text(launch->request, "trays"), *name = request_text(launch->request, "traysName");
  int fd = there ? open_former_trays(in, link) : make_new_trays(in, name, link);
  if (fd < 0) return -1;
  if (ftruncate(fd, TRAYS_BYTES) != 0) fail("cannot make room for trays in %s", in);
  if (fchown(fd, launch->owner_uid, launch->owner_gid) != 0) fail("cannot give trays to their owner");
  return fd;
}

/* A sandbox whose memory is restored in its own place goes on at the same wire, with whatever lies in it. */
void wire_make(struct launch *launch) {
  char *wire = format_text("%s/wire", launch->folder);
  bool there = request_find(launch->request, "sameWire") != NULL;
  if (!there && mkdir(wire, 0711) != 0) fail("cannot make %s", wire);
  launch->to_guest = make(launch, format_text("%s/to-guest", wire), TO_GUEST_BYTES, there);
  launch->from_guest = make(launch, format_text("%s/from-guest", wire), FROM_GUEST_BYTES, there);
  launch->trays = make_trays(launch, format_text("%s/trays", wire), there);
}

/* A new open file description: flags that a guest sets on its own do not reach the owner's. */
int wire_open_again(int fd, int how) {
  char *path = format_text("/proc/self/fd/%d", fd);
  return open(path, how | O_CLOEXEC);
}

static void restore(const struct launch *launch, int fd) {
  struct stat info;
  if (fchown(fd, launch->owner_uid, launch->owner_gid) != 0 || fchmod(fd, 0600) != 0 || fstat(fd, &info) != 0)
    fail("cannot restore the owner of a part of the wire");
  if (info.st_uid != launch->owner_uid || info.st_gid != launch->owner_gid || (info.st_mode & 07777) != 0600)
    fail_with(EPERM, "a part of the wire does not belong to its owner");
}

/* runsc gives its stdio to nobody. */
void wire_restore(const struct launch *launch) {
  restore(launch, launch->to_guest);
  restore(launch, launch->from_guest);
  if (launch->trays >= 0) restore(launch, launch->trays);
}
