/*
 * Composes what a sandbox and its runtime see: a tmpfs that ends up over /run and holds rootfs, bundle, runtime state,
 * log and volume. It is built in the sandbox's folder first, so that a home under /run is still reachable meanwhile.
 */
#include "helper.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { READ_ONLY = MS_RDONLY | MS_NOSUID | MS_NODEV };

static void make_folder(const char *path, mode_t mode) {
  if (mkdir(path, mode) != 0 && errno != EEXIST) fail("cannot make %s", path);
}

static void make_folders(const char *root, const char *path) {
  char *whole = format_text("%s%s", root, path);
  for (char *at = whole + strlen(root) + 1; *at != '\0'; at++) {
    if (*at != '/') continue;
    *at = '\0';
    make_folder(whole, 0755);
    *at = '/';
  }
  make_folder(whole, 0755);
  free(whole);
}

static void mount_tmpfs(const char *target, unsigned long flags, const char *data) {
  if (mount("caisson", target, "tmpfs", flags, data) != 0) fail("cannot mount a tmpfs on %s", target);
}

/* What the source's mount forbids, a user namespace may not allow again: named, it stays. */
static unsigned long kept_flags(const char *target) {
  static const unsigned long pairs[][2] = {
      {ST_RDONLY, MS_RDONLY},   {ST_NOSUID, MS_NOSUID},         {ST_NODEV, MS_NODEV},
      {ST_NOEXEC, MS_NOEXEC},   {ST_NOATIME, MS_NOATIME},       {ST_NODIRATIME, MS_NODIRATIME},
      {ST_RELATIME, MS_RELATIME},
  };
  struct statvfs info;
  unsigned long flags = 0;
  if (statvfs(target, &info) != 0) fail("cannot read the mount of %s", target);
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if ((info.f_flag & pairs[i][0]) != 0) flags |= pairs[i][1];
  return flags;
}

/* Never recursive: a mount below the source would stay writable (hazard 18). */
void view_bind(const char *source, const char *target, unsigned long flags) {
  if (mount(source, target, NULL, MS_BIND, NULL) != 0) {
    if (errno == EINVAL && rootless()) fail("%s has mounts below it, which an ordinary user may not leave out", source);
    fail("cannot bind %s", source);
  }
  if (rootless()) flags |= kept_flags(target);
  if (mount(NULL, target, NULL, MS_REMOUNT | MS_BIND | flags, NULL) != 0) fail("cannot restrict the bind of %s", source);
}

static void make_bind_target(const char *rootfs, const char *source, const char *path) {
  struct stat info;
  if (stat(source, &info) != 0) fail("cannot find %s", source);
  if (S_ISDIR(info.st_mode)) {
    make_folders(rootfs, path);
    return;
  }
  char *parent = strdup(path);
  if (parent == NULL) fail_with(ENOMEM, "no memory");
  *strrchr(parent, '/') = '\0';
  if (*parent != '\0') make_folders(rootfs, parent);
  char *target = format_text("%s%s", rootfs, path);
  int fd = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
  /* A file of a folder that is bound already serves as the place, if it is one. */
  if (fd < 0 && (lstat(target, &info) != 0 || !S_ISREG(info.st_mode))) fail("cannot make %s", path);
  if (fd >= 0) close(fd);
}

/* `/path=rest` */
static char *split(const char *value, const char **rest) {
  const char *equals = strchr(value, '=');
  if (*value != '/' || equals == NULL) fail_with(EINVAL, "%s is not path=value", value);
  *rest = equals + 1;
  return format_text("%.*s", (int)(equals - value), value);
}

/* gVisor lives on and keeps its log open: a tmpfs bounds what it could write, and needs no disk at the start. */
static void mount_for_runtime(const struct launch *launch, const char *path, const char *bounds) {
  make_folder(path, 0700);
  mount_tmpfs(path, MS_NOSUID | MS_NODEV | MS_NOEXEC,
              format_text("mode=0700,%s,uid=%u,gid=%u", bounds, launch->base, launch->base));
}

/* Whoever saves a sandbox's memory asks gVisor by a socket there, which must be reachable when this namespace is not. */
static void bind_state(const struct launch *launch, const char *path) {
  char *source = format_text("%s/state", launch->folder);
  if (mkdir(source, 0700) != 0 && errno != EEXIST) fail("cannot make %s", source);
  int fd = open(source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) fail("cannot open %s", source);
  char *folder = unlink_entries(fd); /* of a former start */
  if (folder != NULL) fail_with(EEXIST, "%s holds a folder", source);
  if (fchown(fd, launch->base, launch->base) != 0) fail("cannot give %s away", source);
  close(fd);
  make_folder(path, 0700);
  view_bind(source, path, MS_NOSUID | MS_NODEV | MS_NOEXEC);
}

void view_begin(struct launch *launch) {
  if (unshare(CLONE_NEWNS) != 0) fail("cannot make a mount namespace");
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) fail("cannot make mounts private");
  launch->stage = format_text("%s/view", launch->folder);
  make_folder(launch->stage, 0700);
  mount_tmpfs(launch->stage, MS_NOSUID, "mode=0755,size=1m,nr_inodes=256");
  char *inside = format_text("%s/caisson", launch->stage);
  make_folder(inside, 0755);
  launch->rootfs = format_text("%s/rootfs", inside);
  launch->volume = format_text("%s/vol", inside);
  make_folder(launch->rootfs, 0755);
  make_folder(launch->volume, 0755);

  char *bundle = format_text("%s/bundle", inside);
  make_folder(bundle, 0755);
  view_bind(format_text("%s/bundle", launch->folder), bundle, READ_ONLY | MS_NOEXEC);

  if (request_find(launch->request, "memory") != NULL) {
    char *image = format_text("%s/image", inside);
    make_folder(image, 0755);
    static const char *const names[MEMORY_PARTS] = {"checkpoint.img", "pages_meta.img", "pages.img"};
    for (int i = 0; i < MEMORY_PARTS; i++)
      if (symlink(format_text("/proc/self/fd/%d", MEMORY_FD + i), format_text("%s/%s", image, names[i])) != 0)
        fail("cannot show the memory");
  }
  if (request_find(launch->request, "devices") != NULL) {
    char *devices = format_text("%s/dev", inside);
    make_folder(devices, 0755);
    apart_devices(devices);
  }
  char *state = format_text("%s/state", inside);
  if (request_find(launch->request, "savesMemory") != NULL && !rootless())
    bind_state(launch, state);
  else
    mount_for_runtime(launch, state, "size=1m,nr_inodes=64");
  mount_for_runtime(launch, format_text("%s/log", inside), "size=256k,nr_inodes=8");
}

/* Where it lies, a folder above may be closed to the uids of the sandbox. */
void view_runtime(const struct launch *launch) {
  const char *program = request_text(launch->request, "runtime");
  make_bind_target(launch->stage, program, RUNTIME_IN_STAGE);
  view_bind(program, format_text("%s" RUNTIME_IN_STAGE, launch->stage), READ_ONLY);
}

static void mask(const char *rootfs, const char *path) {
  struct stat info;
  char *target = format_text("%s%s", rootfs, path);
  if (lstat(target, &info) == 0 && S_ISDIR(info.st_mode)) mount_tmpfs(target, READ_ONLY, "mode=0755,size=4k,nr_inodes=2");
  free(target);
}

/* runc gives a tmpfs the mode of the folder it is mounted on, whatever its own options say. */
static void make_sticky(const char *rootfs, const char *path) {
  char *target = format_text("%s%s", rootfs, path);
  if (mkdir(target, 01777) != 0 || chmod(target, 01777) != 0) fail("cannot make %s", path);
  free(target);
}

void view_places(const struct launch *launch, const char *target) {
  mount_tmpfs(target, MS_NOSUID | MS_NODEV, "mode=0755,size=1m,nr_inodes=1k");
  for (size_t i = 0; i < launch->request->count; i++) {
    const struct argument *argument = &launch->request->arguments[i];
    const char *rest;
    if (strcmp(argument->key, "bind") != 0) continue;
    char *path = split(argument->value, &rest);
    if (!layer_root_is_own(path + 1)) make_bind_target(target, rest, path);
    free(path);
  }
}

/* gVisor opens files for its sandbox, and keeps watches and locks to itself. */
static bool keeps_apart(const struct launch *launch) { return request_find(launch->request, "gofer") == NULL; }

void view_rootfs(const struct launch *launch) {
  /* Without nosuid and nodev: runsc remounts its root plainly, and may not take them away. It holds only our files. */
  mount_tmpfs(launch->rootfs, 0, "mode=0755,size=1m,nr_inodes=1k");
  if (request_find(launch->request, "root") != NULL) layer_root(launch);
  if (keeps_apart(launch)) apart_begin(launch);
  for (size_t i = 0; i < launch->request->count; i++) {
    const struct argument *argument = &launch->request->arguments[i];
    const char *rest;
    if (strcmp(argument->key, "dir") == 0) make_folders(launch->rootfs, argument->value);
    if (strcmp(argument->key, "sticky") == 0) make_sticky(launch->rootfs, argument->value);
    if (strcmp(argument->key, "mask") == 0) mask(launch->rootfs, argument->value);
    if (strcmp(argument->key, "link") == 0) {
      char *path = split(argument->value, &rest);
      if (symlink(rest, format_text("%s%s", launch->rootfs, path)) != 0) fail("cannot make the link %s", path);
    }
    if (strcmp(argument->key, "bind") == 0) {
      char *path = split(argument->value, &rest);
      make_bind_target(launch->rootfs, rest, path);
      char *target = format_text("%s%s", launch->rootfs, path);
      if (keeps_apart(launch))
        apart_show(launch, rest, target);
      else
        view_bind(rest, target, READ_ONLY);
    }
  }
  if (keeps_apart(launch)) apart_end(launch);
}

void view_finish(const struct launch *launch) {
  if (mount(NULL, launch->rootfs, NULL, MS_REMOUNT | MS_RDONLY, NULL) != 0) fail("cannot make the root read-only");
  if (mount(NULL, launch->stage, NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID, NULL) != 0)
    fail("cannot make the view read-only");
  if (mount(launch->stage, "/run", NULL, MS_MOVE, NULL) != 0) fail("cannot move the view over /run");
}
