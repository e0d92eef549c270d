/* Device nodes and the kernel's own files. */
#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* open-devices PATH... */
static int open_devices(int count, char **words) {
  for (int i = 1; i < count; i++) {
    int fd = open(words[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat info;
    if (fd >= 0 && fstat(fd, &info) == 0 && (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode))) gained("%s", words[i]);
    else missed("opening %s", words[i]);
    if (fd >= 0) close(fd);
  }
  return 0;
}

static void show_disk(const char *path) {
  unsigned char head[4096];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, head, sizeof head) != sizeof head) return missed("reading %s", path);
  for (size_t i = 0; i < sizeof head; i++) printf("%02x", head[i]);
  printf("\n");
  close(fd);
}

/* read-disk MAJOR MINOR: makes the node of a disk in each place that might allow it, and prints its first bytes. */
static int read_disk(int count, char **words) {
  static const char *const folders[] = {".", "/tmp", "/dev/shm", "/dev"};
  if (count < 3) return 64;
  dev_t device = makedev((unsigned)number(words[1]), (unsigned)number(words[2]));
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    char path[64];
    snprintf(path, sizeof path, "%s/caisson-disk-%d", folders[i], getpid());
    if (mknod(path, S_IFBLK | 0600, device) < 0) {
      missed("mknod %s", path);
      continue;
    }
    show_disk(path);
    unlink(path);
  }
  return 0;
}

/* make-devices: a character device, which alone is a privilege. */
static int make_devices(int count, char **words) {
  (void)count, (void)words;
  unlink("a-device");
  if (mknod("a-device", S_IFCHR | 0666, makedev(1, 5)) < 0) return missed("mknod"), 0;
  int fd = open("a-device", O_RDONLY | O_CLOEXEC);
  char byte = 1;
  if (fd >= 0 && read(fd, &byte, 1) == 1 && byte == 0) gained("a device node that works");
  else missed("opening the node");
  return unlink("a-device");
}

/* make-interface: a network interface by /dev/net/tun, which gVisor has as a node of its own kernel. */
static int make_interface(int count, char **words) {
  (void)count, (void)words;
  struct ifreq request = {.ifr_flags = 0x1001 /* tun, no packet head */, .ifr_name = "probe0"};
  int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
  if (fd < 0) return missed("opening /dev/net/tun"), 0;
  if (ioctl(fd, 0x400454ca /* TUNSETIFF */, &request) < 0) return missed("TUNSETIFF"), 0;
  gained("the interface %s", request.ifr_name);
  return 0;
}

/* write PATH TEXT: whether it took effect is for the judge outside to see. */
static int write_file(int count, char **words) {
  if (count < 3) return 64;
  if (write_text(words[1], words[2])) say("wrote to %s", words[1]);
  else missed("writing %s", words[1]);
  return 0;
}

/* Only the owner could write: the rest is what an own device or pipe gives anyway. */
static int try_writing(const char *path, const struct stat *info, int kind, struct FTW *place) {
  (void)place;
  if (kind != FTW_F || !S_ISREG(info->st_mode)) return 0;
  int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return 0;
  close(fd);
  gained("%s can be written", path);
  return 1;
}

/* writable FOLDER...: opens each file below for writing, and writes nothing. */
static int writable(int count, char **words) {
  for (int i = 1; i < count; i++)
    if (access(words[i], F_OK) < 0) missed("%s", words[i]);
    else nftw(words[i], try_writing, 16, FTW_PHYS | FTW_MOUNT);
  return 0;
}

static bool try_own_settings(const char *path) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

/* writable-root: makes a file in each folder of the read-only root. */
static int writable_root(int count, char **words) {
  static const char *const folders[] = {"/", "/etc", "/usr", "/usr/bin", "/usr/lib", "/bin", "/root", "/var", "/opt", "/.caisson", "/run", "/dev", "/proc", "/sys"};
  (void)count, (void)words;
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    char path[64];
    snprintf(path, sizeof path, "%s/caisson-probe-%d", folders[i], getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
      missed("making %s", path);
      continue;
    }
    close(fd);
    unlink(path);
    gained("a file in %s", folders[i]);
  }
  if (try_own_settings("/.caisson/guest")) gained("the guest's own program for writing");
  return 0;
}

const struct command node_commands[] = {
    {"open-devices", open_devices}, {"read-disk", read_disk}, {"make-devices", make_devices}, {"make-interface", make_interface},
    {"write", write_file},          {"writable", writable},   {"writable-root", writable_root},
    {NULL, NULL},
};
