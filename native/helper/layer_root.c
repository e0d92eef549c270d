/*
 * The root of a sandbox that a layer is the root of. Its tree is a stranger's: links, odd kinds and any number of entries
 * may stand where a mount is to go. So every place is made in a tmpfs that lies over the tree, and each folder at the top
 * of what comes out is bound into the root, which is the helper's own: no path is followed through the tree (S65).
 */
#include "helper.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOP_ENTRIES_MAX = 128, LINK_BYTES_MAX = 1024 };

/* Made for every sandbox: what the tree has by these names is not seen. */
static const char *const own_names[] = {".caisson", "dev", "home", "proc", "root", "run", "sys", "tmp", "workspace"};

bool layer_root_is_own(const char *path) {
  for (size_t i = 0; i < sizeof own_names / sizeof *own_names; i++) {
    size_t length = strlen(own_names[i]);
    if (strncmp(path, own_names[i], length) == 0 && (path[length] == '\0' || path[length] == '/')) return true;
  }
  return false;
}

static void bind_folder(const struct launch *launch, const char *merged, const char *name) {
  char *target = format_text("%s/%s", launch->rootfs, name);
  if (mkdir(target, 0755) != 0) fail("cannot make %s", name);
  view_bind(format_text("%s/%s", merged, name), target, MS_RDONLY | MS_NOSUID | MS_NODEV);
  free(target);
}

/* Where it leads is looked up by whoever is in the sandbox. */
static void copy_link(const struct launch *launch, int merged, const char *name) {
  char text[LINK_BYTES_MAX + 1];
  ssize_t length = readlinkat(merged, name, text, sizeof text);
  if (length <= 0 || length > LINK_BYTES_MAX) fail_with(EINVAL, "the image has a link of more than %d bytes at its top", LINK_BYTES_MAX);
  text[length] = '\0';
  if (symlink(text, format_text("%s/%s", launch->rootfs, name)) != 0) fail("cannot make the link %s", name);
}

static void take_entries(const struct launch *launch, const char *path) {
  struct stat info;
  size_t count = 0;
  int merged = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int listed = merged < 0 ? -1 : openat(merged, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = listed < 0 ? NULL : fdopendir(listed);
  if (list == NULL) fail("cannot list the image");
  for (struct dirent *entry; (errno = 0, entry = readdir(list)) != NULL;) {
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || layer_root_is_own(name)) continue;
    if (fstatat(merged, name, &info, AT_SYMLINK_NOFOLLOW) != 0) fail("cannot look at %s of the image", name);
    if (!S_ISDIR(info.st_mode) && !S_ISLNK(info.st_mode)) continue;
    if (++count > TOP_ENTRIES_MAX) fail_with(E2BIG, "the image has more than %d folders and links at its top", TOP_ENTRIES_MAX);
    if (S_ISDIR(info.st_mode))
      bind_folder(launch, path, name);
    else
      copy_link(launch, merged, name);
  }
  if (errno != 0) fail("cannot list the image");
  closedir(list);
  close(merged);
}

static char *make_place(const struct launch *launch, const char *name) {
  char *place = format_text("%s/%s", launch->stage, name);
  if (mkdir(place, 0755) != 0) fail("cannot make a place for %s", name);
  return place;
}

static void leave_place(char *place) {
  if (umount2(place, MNT_DETACH) != 0 || rmdir(place) != 0) fail("cannot leave %s", place);
  free(place);
}

void layer_root(const struct launch *launch) {
  char *places = make_place(launch, "places"), *over = make_place(launch, "over"), *merged = make_place(launch, "merged");
  view_places(launch, places);
  view_bind(request_text(launch->request, "over"), over, MS_RDONLY | MS_NOSUID | MS_NODEV);
  size_t count = layers_attach(launch, "root", "r", true);
  overlay_root(launch, "places:over", count, merged);
  take_entries(launch, merged);
  leave_place(merged);
  layers_detach(launch, "r", count);
  leave_place(over);
  leave_place(places);
}
