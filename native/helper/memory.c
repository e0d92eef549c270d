/*
 * The memory of a gVisor sandbox that was checkpointed. It lies in this process's own memory, never on a disk, until it is
 * forgotten: what restores it may read it and nothing else (S73).
 */
#include "helper.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { MEMORIES_MAX = 64, PIECE_BYTES = 1 << 20, ANSWER_BYTES = 4096, SAID_BYTES = 300, IDS = 65536 };

static struct memory {
  char name[ID_BYTES_MAX];
  int fd;
} memories[MEMORIES_MAX];

static struct memory *find(const char *name) {
  for (size_t i = 0; i < MEMORIES_MAX; i++)
    if (strcmp(memories[i].name, name) == 0) return &memories[i];
  return NULL;
}

/* ---- of the resident process ---- */

int memory_hold(const char *name) {
  struct memory *slot = find("");
  if (*name == '\0' || strlen(name) >= ID_BYTES_MAX || find(name) != NULL) return EINVAL;
  if (slot == NULL) return EAGAIN;
  int fd = (int)syscall(SYS_memfd_create, "caisson-memory", MFD_CLOEXEC);
  if (fd < 0) return errno;
  if (fchmod(fd, 0444) != 0) {
    close(fd);
    return EPERM;
  }
  strcpy(slot->name, name);
  slot->fd = fd;
  return 0;
}

/* Its pages go at once, whoever has it open still. */
int memory_forget(const char *name) {
  struct memory *slot = *name == '\0' ? NULL : find(name);
  if (slot == NULL) return 0;
  if (ftruncate(slot->fd, 0) != 0) return errno;
  close(slot->fd);
  *slot->name = '\0';
  return 0;
}

int memory_descriptor(const char *name) {
  struct memory *slot = *name == '\0' ? NULL : find(name);
  return slot == NULL ? -1 : slot->fd;
}

/* ---- of a verb's child ---- */

/* For reading only: the file belongs to this user, and its mode lets nobody open it otherwise. */
void memory_hand_over(const char *name, int at) {
  int held = memory_descriptor(name);
  int fd = held < 0 ? -1 : open(format_text("/proc/self/fd/%d", held), O_RDONLY);
  if (fd < 0 || dup2(fd, at) != at) _exit(126);
  if (fd != at) close(fd);
}

/* The folder belongs to the sandbox's own range: what lies there is a socket, or nobody is asked. */
static int open_socket_file(const char *folder, const char *id) {
  struct stat info;
  int fd = open(format_text("%s/state/runsc-%s.sock", folder, id), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &info) != 0) fail("the sandbox has no socket");
  if (!S_ISSOCK(info.st_mode)) fail_with(EPERM, "the sandbox's socket is something else");
  return fd;
}

/* A sentry that takes no more connections must not hold whoever asks. */
static int connect_to_sentry(const struct request *request, int64_t deadline_us) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  struct ucred peer;
  socklen_t size = sizeof peer;
  uid_t base = (uid_t)request_number(request, "base");
  int file = open_socket_file(request_text(request, "folder"), request_text(request, "id"));
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int64_t left_us = deadline_us - clock_us();
  if (left_us < 1) left_us = 1; /* none would be no limit */
  struct timeval most = {.tv_sec = (time_t)(left_us / 1000000), .tv_usec = (suseconds_t)(left_us % 1000000)};
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) != 0) fail("no socket");
  snprintf(at.sun_path, sizeof at.sun_path, "/proc/self/fd/%d", file);
  if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0) fail("the sandbox does not answer");
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) fail("it is not known who answers");
  if (peer.uid < base || peer.uid - base >= IDS) fail_with(EPERM, "somebody else answers for the sandbox");
  close(file);
  return fd;
}

static void ask(int sentry, int target) {
  static char text[] = "{\"method\":\"containerManager.Checkpoint\",\"arg\":{\"Key\":null,\"Metadata\":null}}";
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr aligned;
  } control = {0};
  struct iovec piece = {text, sizeof text - 1};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &target, sizeof target);
  if (sendmsg(sentry, &message, MSG_NOSIGNAL) != (ssize_t)(sizeof text - 1)) fail("the sandbox cannot be asked");
}

static void wait_readable(int fd, int64_t deadline_us) {
  struct pollfd wait = {.fd = fd, .events = POLLIN};
  int64_t left = deadline_us - clock_us();
  if (left <= 0 || poll(&wait, 1, (int)(left / 1000) + 1) == 0) fail_with(ETIMEDOUT, "the memory was not saved in time");
}

/* The sentry's own memory limit does not count what is written here, and it can make nothing larger than it may. */
static uint64_t take(int from, int to, uint64_t most, int64_t deadline_us) {
  static char piece[PIECE_BYTES];
  uint64_t total = 0;
  for (;;) {
    wait_readable(from, deadline_us);
    ssize_t got = read(from, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("the memory cannot be read");
    if (got == 0) return total;
    total += (uint64_t)got;
    if (total > most) fail_with(EFBIG, "the memory is larger than it may be");
    if (!write_whole(to, piece, (size_t)got)) fail("the memory cannot be held");
  }
}

static NORETURN void refuse(const char *answer) {
  const char *why = strstr(answer, "\"err\":\"");
  const char *tail = why == NULL ? answer : why + 7;
  /* What stands between is the state of an object, at length. */
  const char *last = strstr(tail, "endpoint still has waiters");
  fail_with(EIO, "gVisor could not save it: %.*s", SAID_BYTES, last == NULL ? tail : last);
}

void verb_checkpoint(const struct request *request) {
  static char answer[ANSWER_BYTES + 1];
  int ends[2];
  int64_t deadline_us = clock_us() + (int64_t)request_number(request, "timeoutMs") * 1000;
  int memory = memory_descriptor(request_text(request, "memory"));
  if (memory < 0) fail_with(ENOENT, "there is no such memory");
  int sentry = connect_to_sentry(request, deadline_us);
  if (pipe2(ends, O_CLOEXEC) != 0) fail("no pipe");
  fcntl(ends[0], F_SETPIPE_SZ, PIECE_BYTES);
  ask(sentry, ends[1]);
  close(ends[1]);
  uint64_t bytes = take(ends[0], memory, request_number(request, "bytes"), deadline_us);
  wait_readable(sentry, deadline_us);
  ssize_t got = read(sentry, answer, ANSWER_BYTES);
  answer[got > 0 ? got : 0] = '\0';
  if (strncmp(answer, "{\"success\":true", 15) != 0) refuse(answer);
  reply_ok("bytes=%llu fd=%d", (unsigned long long)bytes, memory);
}
