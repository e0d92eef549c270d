/*
 * Overlays of layers. Their names in the options are relative to the stage: none of them holds a separator, whatever the
 * data folder is called.
 */
#include "helper.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* trusted.* is the kernel's alone: no layer holds a redirection that anyone but the overlay wrote. Inode numbers are made
   those of one file system, since files are told apart by them. */
#define OPTIONS "xino=on,redirect_dir=on,index=off,metacopy=off"

static int open_inside(const char *parent, const char *name) {
  return open(format_text("%s/%s", parent, name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* `first:l0/name:l1/name`, of those layers that have it. */
static char *lower_names(const struct launch *launch, const char *first, const char *prefix, size_t count,
                         const char *name) {
  char *list = format_text("%s", first);
  for (size_t i = 0; i < count; i++) {
    int fd = open_inside(format_text("%s/%s%zu", launch->stage, prefix, i), name);
    if (fd < 0) continue;
    close(fd);
    char *longer = format_text("%s%s%s%zu/%s", list, *list == '\0' ? "" : ":", prefix, i, name);
    free(list);
    list = longer;
  }
  return list;
}

void overlay_mount(const struct launch *launch, const char *target, unsigned long flags, const char *options) {
  if (chdir(launch->stage) != 0) fail("cannot enter the stage");
  if (mount("caisson", target, "overlay", flags | MS_NOSUID | MS_NODEV, options) != 0) {
    if (errno == EPERM && rootless()) fail_with(EOPNOTSUPP, "this kernel mounts no overlay for an ordinary user: Linux 5.11 does");
    if (errno == ENODEV || errno == EINVAL) fail_with(EOPNOTSUPP, "this kernel cannot mount an overlay here");
    fail("cannot mount an overlay");
  }
  if (chdir("/") != 0) fail("cannot leave the stage");
}

void overlay_root(const struct launch *launch, const char *first, size_t count, const char *target) {
  overlay_mount(launch, target, MS_RDONLY, format_text("lowerdir=%s", lower_names(launch, first, "r", count, "ws")));
}

/* A new upper folder is to look as the one below it did. */
static void make_upper(const struct launch *launch, int own, const char *name, size_t count) {
  struct stat info;
  if (fstatat(own, name, &info, AT_SYMLINK_NOFOLLOW) == 0) return;
  int upper = volume_folder(own, name, strcmp(name, "home") == 0 ? 0700 : 0755,
                          strcmp(name, "input") == 0 ? launch->base : launch->user);
  for (size_t i = 0; i < count; i++) {
    int lower = open_inside(format_text("%s/b%zu", launch->stage, i), name);
    if (lower < 0) continue;
    if (fstat(lower, &info) != 0 || fchmod(upper, info.st_mode & 07777) != 0) fail("cannot make %s as it was", name);
    struct timespec times[2] = {info.st_atim, info.st_mtim};
    futimens(upper, times);
    close(lower);
    break;
  }
  close(upper);
}

/* Lays the folder of the sandbox's own volume over those of the layers. */
static void overlay_folder(const struct launch *launch, int own, int work, const char *name, size_t count) {
  char *target = format_text("%s/%s", launch->volume, name);
  char *lower = lower_names(launch, "", "b", count, name);
  if (mkdir(target, 0755) != 0) fail("cannot make a place for %s", name);
  make_upper(launch, own, name, count);
  if (*lower == '\0') {
    view_bind(format_text("%s/own/%s", launch->stage, name), target, MS_NOSUID | MS_NODEV);
    return;
  }
  close(volume_folder(work, name, 0700, 0));
  overlay_mount(launch, target, 0,
                format_text("%s,lowerdir=%s,upperdir=own/%s,workdir=own/work/%s", OPTIONS, lower, name, name));
}

void overlay_volume(const struct launch *launch) {
  char *place = format_text("%s/own", launch->stage);
  if (mkdir(place, 0700) != 0) fail("cannot make a place for the volume");
  image_mount(format_text("%s/workspace.img", launch->folder), place, launch->stage);
  size_t count = layers_attach(launch, "lower", "b", false);
  int own = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) fail("cannot open the volume");
  int work = volume_folder(own, "work", 0700, 0);
  overlay_folder(launch, own, work, "ws", count);
  overlay_folder(launch, own, work, "home", count);
  /* An input folder of its own replaces what those below it had. */
  bool fresh = launch->input >= 0;
  if (fresh || request_find(launch->request, "keepInput") != NULL)
    overlay_folder(launch, own, work, "input", fresh ? 0 : count);
  close(work);
  close(own);
  layers_detach(launch, "b", count);
  if (umount2(place, MNT_DETACH) != 0 || rmdir(place) != 0) fail("cannot leave the volume");
}
