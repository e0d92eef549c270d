/*
 * Files of the host, and devices, by inodes that no other sandbox has. A watch (inotify) or a lock on an inode that many
 * share would show a sandbox what the host and other sandboxes open, carry bits between them, and keep the host from its
 * own files (S89). The pages of an overlay's files are those of the files below it: memory stays shared.
 */
#include "helper.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PLAIN = MS_NOSUID | MS_NODEV, READ_ONLY = MS_RDONLY | PLAIN };

static unsigned places;

static char *make_place(const struct launch *launch) {
  char *place = format_text("%s/apart/%u", launch->stage, places++);
  if (mkdir(place, 0755) != 0) fail("cannot make a place for files of the host");
  return place;
}

/* What is mounted meanwhile lies in one tmpfs, which is left with all of it at once: each unmounting waits for all processors. */
void apart_begin(const struct launch *launch) {
  char *top = format_text("%s/apart", launch->stage);
  if (mkdir(top, 0700) != 0 || mount("caisson", top, "tmpfs", PLAIN | MS_NOEXEC, "mode=0700,size=64k,nr_inodes=1k") != 0 ||
      mkdir(format_text("%s/empty", top), 0755) != 0)
    fail("cannot make a place for files of the host");
  free(top);
}

void apart_end(const struct launch *launch) {
  char *top = format_text("%s/apart", launch->stage);
  if (umount2(top, MNT_DETACH) != 0 || rmdir(top) != 0) fail("cannot leave the files of the host");
  free(top);
}

/* An overlay that is read-only has two folders below it at least: the second one is empty. Only what is bound at a place of
   the stage is named, since a separator in a name would be one in the options. */
static void overlay_folder(const struct launch *launch, const char *source, const char *target) {
  char *below = make_place(launch);
  view_bind(source, below, READ_ONLY);
  char *options = format_text("lowerdir=apart/%s:apart/empty", strrchr(below, '/') + 1);
  overlay_mount(launch, target, MS_RDONLY, options);
  free(options);
  free(below);
}

/* True where an ordinary user cannot have a folder without the mounts below it, so that no overlay of it can be made. */
static bool holds_mounts(const char *folder, const char *place) {
  if (!rootless()) return false;
  if (mount(folder, place, NULL, MS_BIND, NULL) != 0) return errno == EINVAL;
  umount2(place, MNT_DETACH);
  return false;
}

/* Overlays are of folders: a file is bound from one of the folder that it is in. */
static void overlay_file(const struct launch *launch, const char *source, const char *target) {
  char *around = make_place(launch);
  const char *name = strrchr(source, '/') + 1;
  char *folder = format_text("%.*s", (int)(name - source), source);
  if (holds_mounts(folder, around)) return view_bind(source, target, READ_ONLY);
  overlay_folder(launch, folder, around);
  view_bind(format_text("%s/%s", around, name), target, READ_ONLY);
  free(folder);
  free(around);
}

void apart_show(const struct launch *launch, const char *source, const char *target) {
  struct stat info;
  /* Links are gone from its name: the last part would lead out of the overlay. */
  char *real = realpath(source, NULL);
  if (real == NULL || stat(real, &info) != 0) fail("cannot find %s", source);
  if (S_ISDIR(info.st_mode))
    overlay_folder(launch, real, target);
  else
    overlay_file(launch, real, target);
  free(real);
}

static const struct device {
  const char *name;
  unsigned minor, major;
} devices[] = {{"null", 3, 1}, {"zero", 5, 1}, {"full", 7, 1}, {"random", 8, 1}, {"urandom", 9, 1}, {"tty", 0, 5}};

static const char *const links[][2] = {
    {"fd", "/proc/self/fd"}, {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"}, {"stderr", "/proc/self/fd/2"}, {"ptmx", "pts/ptmx"},
};

static const char *const folders[] = {"mqueue", "pts", "shm"};

/* Of root's alone: nobody in the sandbox can make or remove anything there. */
void apart_devices(const char *place) {
  if (mount("caisson", place, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=4k,nr_inodes=32") != 0)
    fail("cannot mount a tmpfs for devices");
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    char *path = format_text("%s/%s", place, devices[i].name);
    if (mknod(path, S_IFCHR | 0666, makedev(devices[i].major, devices[i].minor)) != 0 || chmod(path, 0666) != 0)
      fail("cannot make the device %s", devices[i].name);
    free(path);
  }
  for (size_t i = 0; i < sizeof links / sizeof *links; i++)
    if (symlink(links[i][1], format_text("%s/%s", place, links[i][0])) != 0) fail("cannot make /dev/%s", links[i][0]);
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    /* runc gives a tmpfs the mode of the folder that it lies on. */
    if (mkdir(format_text("%s/%s", place, folders[i]), 0755) != 0 || chmod(format_text("%s/%s", place, folders[i]), 01777) != 0)
      fail("cannot make /dev/%s", folders[i]);
}
