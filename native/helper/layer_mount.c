/*
 * Layers are mounted once for all sandboxes of this helper: read-only, in a mount namespace of the helper's own, so that
 * they and their loop devices end with it, and on a tmpfs of its own, so that a sandbox's start leaves them all at once
 * (hazard 9, S64).
 */
#include "helper.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char *top;

/* By the resident process, before its first layer. What the host mounts later is still seen where it is shared. */
int layers_prepare(const char *folder) {
  if (top != NULL) return strcmp(top, folder) == 0 ? 0 : EINVAL;
  if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0 ||
      mount("caisson", folder, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0700,size=1m,nr_inodes=16k") != 0)
    return errno;
  top = format_text("%s", folder);
  return 0;
}

void layers_close(void) {
  if (top != NULL) umount2(top, MNT_DETACH);
}

/* The layers that a sandbox does not have are not its to hold. */
void layers_leave(void) {
  if (top != NULL && umount2(top, MNT_DETACH) != 0) fail("cannot leave the layers");
}

static char *place_of(const struct request *request) {
  const char *id = request_text(request, "id");
  if (top == NULL || strchr(id, '/') != NULL) fail_with(EINVAL, "there is no place for the layer");
  return format_text("%s/%s", top, id);
}

static int open_layer(const char *path) {
  struct stat info;
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &info) != 0) fail("cannot open the layer");
  if (!S_ISREG(info.st_mode) || info.st_uid != 0 || info.st_nlink != 1 || (info.st_mode & 022) != 0)
    fail_with(EBADMSG, "the layer is not a file of the engine's own");
  return fd;
}

void verb_layer_mount(const struct request *request) {
  const char *digest = request_find(request, "digest");
  char *place = place_of(request);
  int image = open_layer(request_text(request, "image"));
  if (digest != NULL) {
    char found[65];
    layer_digest(image, found);
    if (strcmp(found, digest) != 0) fail_with(EBADMSG, "the layer is damaged: its digest is %s, not %s", found, digest);
  }
  if (mkdir(place, 0755) != 0 && errno != EEXIST) fail("cannot make a place for the layer");
  reply_ok("device=%s", image_mount_layer(image, place, top));
}

void verb_layer_unmount(const struct request *request) {
  char *place = place_of(request);
  if (umount2(place, MNT_DETACH) != 0 && errno != EINVAL && errno != ENOENT) fail("cannot unmount the layer");
  if (rmdir(place) != 0 && errno != ENOENT) fail("cannot remove the place of the layer");
  reply_ok("unmounted=1");
}

/* Of a layer that is used already: nobody waits for it. */
void verb_layer_digest(const struct request *request) {
  char digest[65];
  setpriority(PRIO_PROCESS, 0, 19);
  int image = open_layer(request_text(request, "image"));
  if (fsync(image) != 0) fail("cannot write the layer to the disk");
  layer_digest(image, digest);
  reply_ok("digest=%s", digest);
}
