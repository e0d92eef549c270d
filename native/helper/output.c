/*
 * Copies what a sandbox left in /workspace/output into a folder of the host, below a folder of its own. Two children do it,
 * and neither has more rights than its side takes: the reader is the sandbox's user in the workspace, the writer the host
 * folder's owner in that folder; each has its tree as its root (S42).
 */
#include "output.h"

#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

/* UTF-8 without control characters, C1's included: it may be shown on a terminal (hazard 33). */
bool output_name_is_plain(const char *name) {
  size_t length = strlen(name);
  if (length == 0 || length > OUTPUT_NAME_BYTES || strchr(name, '/') != NULL) return false;
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, OUTPUT_PART) == 0) return false;
  for (const unsigned char *at = (const unsigned char *)name; *at != '\0';) {
    unsigned more = *at < 0x80 ? 0 : *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : 1;
    if (*at < 0x20 || *at == 0x7f || (*at >= 0x80 && *at < 0xc2) || *at > 0xf4) return false;
    if ((*at == 0xc2 && at[1] < 0xa0) || (*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) ||
        (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] > 0x8f))
      return false;
    for (at++; more > 0; more--, at++)
      if ((*at & 0xc0) != 0x80) return false;
  }
  return true;
}

/* Makes the host's folder the root, and its owner the own user, for good. */
static void become_owner(int folder) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2] = {0};
  struct stat info;
  if (fstat(folder, &info) != 0 || fchdir(folder) != 0 || chroot(".") != 0) fail("cannot enter the output folder");
  close(folder);
  if (setgroups(0, NULL) != 0 || setresgid(info.st_gid, info.st_gid, info.st_gid) != 0 ||
      setresuid(info.st_uid, info.st_uid, info.st_uid) != 0)
    fail("cannot become the owner of the output folder");
  if (syscall(SYS_capset, &header, none) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
    fail("cannot give up privileges");
  umask(022);
  die_with_parent();
}

static NORETURN void read_side(const struct request *request, int workspace, int out) {
  int kept[] = {workspace, out, reply_descriptor()};
  enter_workspace(request, workspace, kept, sizeof kept / sizeof *kept);
  output_read(out, request_number(request, "files"), request_number(request, "bytes"));
}

static NORETURN void write_side(const struct request *request, int folder, int in, int result) {
  int kept[] = {folder, in, result, reply_descriptor()};
  keep_only(kept, sizeof kept / sizeof *kept);
  become_owner(folder);
  struct output_counts counts = output_write(in, request_text(request, "id"), request_number(request, "reserveBytes"));
  _exit(write_whole(result, &counts, sizeof counts) ? 0 : 1);
}

/* A child that ended by itself has said why; one that was ended has not. */
static void check_end(pid_t pid, int64_t timeout_us) {
  int status;
  if (!wait_for_child(pid, timeout_us, &status)) {
    kill(pid, SIGKILL);
    fail_with(ETIMEDOUT, "the output could not be copied in time");
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGPIPE) fail_with(EIO, "the copy ended by signal %d", WTERMSIG(status));
}

void verb_output(const struct request *request) {
  int64_t timeout_us = (int64_t)request_number(request, "timeoutMs") * 1000;
  int workspace = open_workspace(request), pieces[2], result[2];
  struct output_counts counts;
  int folder = open_host_folder(request_text(request, "to"));
  if (folder < 0) fail("cannot open the output folder");
  if (pipe2(pieces, O_CLOEXEC) != 0 || pipe2(result, O_CLOEXEC) != 0) fail("cannot make a pipe");
  pid_t reader = fork();
  if (reader == 0) read_side(request, workspace, pieces[1]);
  pid_t writer = reader < 0 ? -1 : fork();
  if (writer == 0) write_side(request, folder, pieces[0], result[1]);
  if (writer < 0) fail("cannot fork");
  close(pieces[0]);
  close(pieces[1]);
  close(result[1]);
  check_end(writer, timeout_us);
  check_end(reader, timeout_us);
  if (read_whole(result[0], &counts, sizeof counts) != sizeof counts) _exit(1);
  reply_ok("files=%llu bytes=%llu skipped=%llu whole=%llu", (unsigned long long)counts.files, (unsigned long long)counts.bytes,
           (unsigned long long)counts.skipped, (unsigned long long)counts.whole);
}
