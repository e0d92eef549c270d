/*
 * Starts one sandbox. All mounts live in this child's private mount namespace and the copies the runtime makes of it,
 * so the kernel undoes them with the sandbox's last process; the files lie in the sandbox's folder, which its owner
 * removes. A failure therefore leaves nothing of its own but what the owner's one way of removal covers.
 */
#include "helper.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Part by part, through no link: whoever owns a folder above could put one there at any moment. */
static int open_folder(const char *path) {
  int folder = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  while (folder >= 0 && *(path += strspn(path, "/")) != '\0') {
    char part[256];
    size_t length = strcspn(path, "/");
    if (length >= sizeof part) fail_with(ENAMETOOLONG, "cannot open the input folder");
    memcpy(part, path, length);
    part[length] = '\0';
    path += length;
    int next = openat(folder, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(folder);
    folder = next;
  }
  if (folder < 0) return -1;
  int readable = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  close(folder);
  return readable;
}

static struct launch read_launch(const struct request *request) {
  struct launch launch = {
      .request = request,
      .folder = request_text(request, "folder"),
      .base = (uid_t)request_number(request, "base"),
      .user = request_user(request),
      .owner_uid = (uid_t)request_number(request, "uid"),
      .owner_gid = (gid_t)request_number(request, "gid"),
      .input = -1,
  };
  const char *input = request_find(request, "input");
  if (input == NULL) return launch;
  launch.input = open_folder(input);
  if (launch.input < 0) fail("cannot open the input folder %s", input);
  return launch;
}

void verb_launch(const struct request *request) {
  const char *template_path = request_find(request, "template");
  struct launch launch = read_launch(request);

  reply_step("fifos");
  fifo_make(&launch);
  reply_step("image");
  if (template_path != NULL) image_fill(template_path, format_text("%s/workspace.img", launch.folder));
  reply_step("view");
  view_begin(&launch);
  view_rootfs(&launch);
  reply_step("volume");
  volume_prepare(&launch);
  view_finish(&launch);
  reply_step("process");
  struct started started = runtime_run(&launch);
  fifo_restore(&launch);
  reply_ok("pid=%d gofer=%d timings=%s", (int)started.pid, (int)started.gofer, reply_timings());
}
