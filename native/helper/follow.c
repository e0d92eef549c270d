/*
 * Follows a workspace from the host's side (hazard 32): a look, a comparison with the last one, what happened between
 * them. Looks are taken by a process with the rights of the sandbox's user and the workspace as its root. fanotify only
 * says when to look, and nothing of what it says is trusted; without it the looks come at an interval. A reader that is
 * slow makes the looks rarer, not the list longer.
 */
#include "helper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { LOOP_MAJOR = 7, DRAIN_READS = 64, LOOKS_IN_A_ROW = 3, HANDSHAKE_MS = 5 };

struct follower {
  const struct request *request;
  int workspace, out, holder, wake, sandbox;
  struct walk_limits limits;
};

/* Leaves at once when the reader has. */
static void rest(const struct follower *follower, int64_t us) {
  struct pollfd out = {.fd = follower->out};
  if (us >= 1000 && poll(&out, 1, (int)(us / 1000)) > 0) _exit(0);
}

/* Only on a file system that is the sandbox's own: on another it would tell of the whole host. */
static int open_wake(int workspace) {
  struct stat info;
  const uint64_t mask =
      FAN_CREATE | FAN_DELETE | FAN_MOVED_FROM | FAN_MOVED_TO | FAN_MODIFY | FAN_ATTRIB | FAN_ONDIR;
  if (fstat(workspace, &info) != 0 || major(info.st_dev) != LOOP_MAJOR) return -1;
  int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID | FAN_CLOEXEC | FAN_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (fanotify_mark(fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, mask, workspace, ".") == 0) return fd;
  close(fd);
  return -1;
}

/* Whether anything happened; what it was the next look says. */
static bool drain(int wake) {
  static char bytes[1 << 16];
  bool any = false;
  for (int i = 0; wake >= 0 && i < DRAIN_READS && read(wake, bytes, sizeof bytes) > 0; i++) any = true;
  return any;
}

/* The reader opens the FIFO after the reply. Until it has taken the first byte this end holds it open, so that the reader
   sees no end; from then on its leaving is seen here. */
static int make_fifo(struct follower *follower) {
  const char *path = format_text("%s/%s", request_text(follower->request, "folder"), request_text(follower->request, "fifo"));
  if (mkfifo(path, 0600) != 0) fail("cannot make %s", path);
  follower->holder = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (follower->holder < 0) fail("cannot open %s", path);
  int out = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  if (out < 0) fail("cannot open %s", path);
  return out;
}

static void release_holder(struct follower *follower) {
  int pending = 1;
  if (follower->holder < 0 || ioctl(follower->holder, FIONREAD, &pending) != 0 || pending > 0) return;
  close(follower->holder);
  follower->holder = -1;
}

/* Until it is time for a look: true when something is known to have happened. Leaves when the sandbox or the reader has. */
static bool wait_for_wake(struct follower *follower) {
  int64_t idle_ms = (int64_t)request_number(follower->request, follower->wake >= 0 ? "idleMs" : "intervalMs");
  for (int64_t until = clock_us() + idle_ms * 1000;;) {
    struct pollfd list[] = {{.fd = follower->sandbox, .events = POLLIN},
                            {.fd = follower->out},
                            {.fd = follower->wake, .events = POLLIN}};
    int64_t left_ms = (until - clock_us()) / 1000 + 1;
    release_holder(follower);
    if (left_ms <= 0) return follower->wake < 0;
    if (follower->holder >= 0 && left_ms > HANDSHAKE_MS) left_ms = HANDSHAKE_MS;
    if (poll(list, 3, (int)left_ms) < 0 && errno != EINTR) _exit(1);
    if (list[1].revents & (POLLERR | POLLHUP | POLLNVAL)) _exit(0);
    if (list[0].revents != 0) _exit(write_whole(follower->out, "e", 2) ? 0 : 1); /* an end without it is a failure */
    if (list[2].revents != 0) return true;
  }
}

/* What moves while it is looked at may be seen twice or not at all: looked at again, a few times. */
static bool look(struct follower *follower, int root, struct entries *found) {
  bool whole = false;
  for (int i = 0; i < LOOKS_IN_A_ROW; i++) {
    drain(follower->wake);
    found->count = 0;
    whole = walk(root, request_find(follower->request, "skip"), follower->limits, found);
    if (!drain(follower->wake)) break;
  }
  sort_entries(found);
  return whole;
}

static NORETURN void follow(struct follower *follower, int root) {
  struct entries looks[2] = {{0}, {0}};
  int64_t settle_us = (int64_t)request_number(follower->request, "settleMs") * 1000;
  uint64_t most = request_number(follower->request, "events");
  bool whole = look(follower, root, &looks[0]);
  if (!write_whole(follower->out, "r\0o", whole ? 2 : 4)) _exit(0);
  for (int turn = 1;; turn = 1 - turn) {
    struct entries *before = &looks[1 - turn], *after = &looks[turn];
    bool woken = wait_for_wake(follower);
    rest(follower, settle_us);
    int64_t started = clock_us();
    arena_switch();
    bool whole_now = look(follower, root, after);
    wait_for_next_tick(after); /* whoever reads a file once it was told of reads what was told */
    bool told = whole && whole_now ? write_events(follower->out, before, after, most) : !woken;
    if (!told && !write_whole(follower->out, "o", 2)) _exit(0);
    whole = whole_now;
    rest(follower, 4 * (clock_us() - started)); /* a fifth of one processor at most */
  }
}

void verb_follow(const struct request *request) {
  static struct follower follower;
  follower = (struct follower){.request = request,
                               .workspace = open_workspace(request),
                               .limits = {.files = request_number(request, "files"),
                                          .depth = request_number(request, "depth"),
                                          .path_bytes = request_number(request, "pathBytes"),
                                          .all = true}};
  follower.sandbox = open_pidfd((pid_t)request_number(request, "pid"));
  follower.wake = open_wake(follower.workspace);
  follower.out = make_fifo(&follower);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0) fail("cannot leave the owner's pipes");
  int kept[] = {follower.workspace, follower.sandbox, follower.wake, follower.out, follower.holder, reply_descriptor()};
  enter_workspace(request, follower.workspace, kept, sizeof kept / sizeof *kept);
  int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) fail("cannot open the workspace");
  reply_begun();
  follow(&follower, root);
}
