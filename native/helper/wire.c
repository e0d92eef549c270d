/* The wire: two FIFOs. They belong to the owner; the runtime gets descriptors of its own open()
   (hazards 3, 4, 10). */
#include "helper.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TO_GUEST_BYTES = 1024 * 1024, FROM_GUEST_BYTES = 1024 * 1024, LEAST_BYTES = 64 * 1024 };

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

/* A sandbox whose memory is restored in its own place goes on at the same wire, with whatever lies in it. */
void wire_make(struct launch *launch) {
  char *wire = format_text("%s/wire", launch->folder);
  bool there = request_find(launch->request, "sameWire") != NULL;
  if (!there && mkdir(wire, 0711) != 0) fail("cannot make %s", wire);
  launch->to_guest = make(launch, format_text("%s/to-guest", wire), TO_GUEST_BYTES, there);
  launch->from_guest = make(launch, format_text("%s/from-guest", wire), FROM_GUEST_BYTES, there);
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
}
