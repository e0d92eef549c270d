/*
 * Starts one sandbox. All mounts live in this child's private mount namespace and the copies the runtime makes of it,
 * so the kernel undoes them with the sandbox's last process; the files lie in the sandbox's folder, which its owner
 * removes. A failure therefore leaves nothing of its own but what the owner's one way of removal covers.
 */
#include "helper.h"

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
  launch.input = open_host_folder(input);
  if (launch.input < 0) fail("cannot open the input folder %s", input);
  return launch;
}

void verb_launch(const struct request *request) {
  const char *template_path = request_find(request, "template");
  struct launch launch = read_launch(request);

  reply_step("wire");
  wire_make(&launch);
  reply_step("image");
  if (template_path != NULL) image_fill(template_path, format_text("%s/workspace.img", launch.folder));
  reply_step("view");
  view_begin(&launch);
  view_rootfs(&launch);
  reply_step("runtime");
  view_runtime(&launch);
  reply_step("volume");
  volume_prepare(&launch);
  layers_leave();
  view_finish(&launch);
  reply_step("process");
  struct started started = runtime_run(&launch);
  wire_restore(&launch);
  reply_ok("pid=%d gofer=%d timings=%s", (int)started.pid, (int)started.gofer, reply_timings());
}
