/* A workspace is an ext4 image that this engine formatted, filled from a template and mounted through a loop device. */
#include "helper.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { LOOP_TRIES = 64, LOOP_MAJOR = 7 };

static void copy_range(int from, int to, off_t at, off_t end) {
  static char bytes[1 << 16];
  while (at < end) {
    off_t out = at;
    ssize_t done = copy_file_range(from, &at, to, &out, (size_t)(end - at), 0);
    if (done > 0) continue;
    if (done == 0) return;
    if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) fail("cannot fill the image");
    size_t want = (size_t)(end - at) < sizeof bytes ? (size_t)(end - at) : sizeof bytes;
    ssize_t got = pread(from, bytes, want, at);
    if (got <= 0) fail("cannot read the template image");
    if (pwrite(to, bytes, (size_t)got, at) != got) fail("cannot fill the image");
    at += got;
  }
}

void image_fill(const char *template_path, const char *image_path) {
  struct stat from_info, to_info;
  int from = open(template_path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (from < 0 || fstat(from, &from_info) != 0) fail("cannot open the template image %s", template_path);
  int to = open(image_path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (to < 0 || fstat(to, &to_info) != 0) fail("cannot open the image %s", image_path);
  if (from_info.st_size != to_info.st_size) fail_with(EINVAL, "the image has not the size of its template");
  if (ioctl(to, FICLONE, from) != 0) {
    off_t data = 0;
    while ((data = lseek(from, data, SEEK_DATA)) >= 0) {
      off_t hole = lseek(from, data, SEEK_HOLE);
      if (hole < 0) fail("cannot find the holes of the template image");
      copy_range(from, to, data, hole);
      data = hole;
    }
    if (errno != ENXIO) fail("cannot find the data of the template image");
  }
  close(from);
  close(to);
}

/* Hosts without udev may have no node for a new loop device: it is made in the private tmpfs then. */
static int open_loop(int number, const char *scratch, char **path) {
  *path = format_text("/dev/loop%d", number);
  int fd = open(*path, O_RDWR | O_CLOEXEC);
  if (fd >= 0 || errno != ENOENT) return fd;
  *path = format_text("%s/loop%d", scratch, number);
  if (mknod(*path, S_IFBLK | 0600, makedev(LOOP_MAJOR, number)) != 0 && errno != EEXIST) return -1;
  return open(*path, O_RDWR | O_CLOEXEC);
}

/* A file that cannot be written makes a device that cannot, whatever the flags say. */
static int configure_old_kernel(int loop, int image) {
  struct loop_info64 info = {.lo_flags = LO_FLAGS_AUTOCLEAR};
  if (ioctl(loop, LOOP_SET_FD, image) != 0) return -1;
  if (ioctl(loop, LOOP_SET_STATUS64, &info) == 0) return 0;
  int error = errno;
  ioctl(loop, LOOP_CLR_FD, 0);
  errno = error;
  return -1;
}

static int configure(int loop, int image, uint32_t flags) {
  struct loop_config config = {.fd = (uint32_t)image, .info = {.lo_flags = LO_FLAGS_AUTOCLEAR | flags}};
  if (ioctl(loop, LOOP_CONFIGURE, &config) == 0) return 0;
  return errno == EINVAL || errno == ENOTTY ? configure_old_kernel(loop, image) : -1;
}

/* Another process may take the free device first: ask again. */
static int attach_loop(int image, uint32_t flags, const char *scratch, char **path) {
  int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (control < 0) fail("cannot open /dev/loop-control");
  for (int try = 0; try < LOOP_TRIES; try++) {
    int number = ioctl(control, LOOP_CTL_GET_FREE);
    if (number < 0) fail("no loop device is free");
    int loop = open_loop(number, scratch, path);
    if (loop < 0) fail("cannot open loop device %d", number);
    if (configure(loop, image, flags) == 0) {
      close(control);
      return loop;
    }
    if (errno != EBUSY) fail("cannot attach the image to loop device %d", number);
    close(loop);
  }
  fail_with(EBUSY, "no loop device stayed free");
}

void image_mount(const char *image_path, const char *target, const char *scratch) {
  char *device;
  int image = open(image_path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (image < 0) fail("cannot open %s", image_path);
  int loop = attach_loop(image, 0, scratch, &device);
  /* The superblock's own choice on errors could be to panic: name it (hazard 9). */
  if (mount(device, target, "ext4", MS_NOSUID | MS_NODEV, "errors=remount-ro,discard,noinit_itable") != 0)
    fail("cannot mount %s", device);
  close(loop);
  close(image);
}

/* Past the page cache of the host's own file system: its pages are in memory once, those of the mount. */
const char *image_mount_layer(int image, const char *target, const char *scratch) {
  char *device;
  int loop = attach_loop(image, LO_FLAGS_READ_ONLY | LO_FLAGS_DIRECT_IO, scratch, &device);
  if (mount(device, target, "ext4", MS_RDONLY | MS_NOSUID | MS_NODEV, "noload,errors=remount-ro") != 0)
    fail("cannot mount %s", device);
  if (strncmp(device, scratch, strlen(scratch)) == 0) unlink(device);
  close(loop);
  return strrchr(device, '/') + 1;
}

char *image_device(int number, const char *scratch) {
  char *path;
  int fd = open_loop(number, scratch, &path);
  if (fd < 0) fail("cannot open loop device %d", number);
  close(fd);
  return path;
}
