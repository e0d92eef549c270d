/* What a sandbox may write to: /workspace and the home folder, on one volume. */
#include "helper.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void mount_plain_folder(const struct launch *launch) {
  char *folder = format_text("%s/volume", launch->folder);
  if (mkdir(folder, 0755) != 0 && errno != EEXIST) fail("cannot make %s", folder);
  view_bind(folder, launch->volume, MS_NOSUID | MS_NODEV);
}

int volume_folder(int parent, const char *name, mode_t mode, uid_t owner) {
  if (mkdirat(parent, name, mode) != 0 && errno != EEXIST) fail("cannot make %s in the volume", name);
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || fchown(fd, owner, owner) != 0) fail("cannot give %s of the volume to its owner", name);
  return fd;
}

/* What code has made of that name stays. */
static void make_output(int workspace, uid_t user) {
  struct stat info;
  bool other = fstatat(workspace, "output", &info, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(info.st_mode);
  if (!other) close(volume_folder(workspace, "output", 0755, user));
}

void volume_prepare(const struct launch *launch) {
  uid_t user = launch->user;
  if (request_find(launch->request, "lower") != NULL)
    overlay_volume(launch);
  else if (request_find(launch->request, "image") != NULL)
    image_mount(format_text("%s/workspace.img", launch->folder), launch->volume, launch->stage);
  else
    mount_plain_folder(launch);

  int volume = open(launch->volume, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (volume < 0) fail("cannot open the volume");
  int workspace = volume_folder(volume, "ws", 0755, user);
  close(volume_folder(volume, "home", 0700, user));
  if (request_find(launch->request, "output") != NULL) make_output(workspace, user);
  /* What a former start copied is still there; the place that it is mounted on must be a folder, not a link. */
  if (request_find(launch->request, "keepInput") != NULL) close(volume_folder(workspace, "input", 0755, launch->base));
  if (launch->input >= 0) {
    close(volume_folder(workspace, "input", 0755, launch->base));
    int input = volume_folder(volume, "input", 0755, launch->base);
    reply_step("input");
    input_copy(launch->input, input, launch->base, request_number(launch->request, "inputFiles"));
    close(input);
  }
  close(workspace);
  close(volume);
}
