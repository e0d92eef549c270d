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
  int fd[MEMORY_PARTS];
} memories[MEMORIES_MAX];

static struct memory *find(const char *name) {
  for (size_t i = 0; i < MEMORIES_MAX; i++)
    if (strcmp(memories[i].name, name) == 0) return &memories[i];
  return NULL;
}

/* ---- of the resident process ---- */

static void close_parts(struct memory *slot) {
  for (size_t i = 0; i < MEMORY_PARTS; i++)
    if (slot->fd[i] >= 0) close(slot->fd[i]);
}

int memory_hold(const char *name) {
  struct memory *slot = find("");
  if (*name == '\0' || strlen(name) >= ID_BYTES_MAX || find(name) != NULL) return EINVAL;
  if (slot == NULL) return EAGAIN;
  int error = 0;
  for (size_t i = 0; i < MEMORY_PARTS; i++) {
    slot->fd[i] = (int)syscall(SYS_memfd_create, "caisson-memory", MFD_CLOEXEC);
    if (slot->fd[i] < 0 || fchmod(slot->fd[i], 0444) != 0) error = errno;
  }
  if (error != 0) {
    close_parts(slot);
    return error;
  }
  strcpy(slot->name, name);
  return 0;
}

/* Its pages go at once, whoever has it open still. */
int memory_forget(const char *name) {
  struct memory *slot = *name == '\0' ? NULL : find(name);
  if (slot == NULL) return 0;
  for (size_t i = 0; i < MEMORY_PARTS; i++)
    if (ftruncate(slot->fd[i], 0) != 0) return errno;
  close_parts(slot);
  *slot->name = '\0';
  return 0;
}

static const int *parts_of(const char *name) {
  struct memory *slot = *name == '\0' ? NULL : find(name);
  return slot == NULL ? NULL : slot->fd;
}

/* Where its owner finds it, who may open it by this process's numbers of it. */
char *memory_places(const char *name) {
  const int *fd = parts_of(name);
  return fd == NULL ? NULL : format_text("state=%d about=%d pages=%d", fd[0], fd[1], fd[2]);
}

/* ---- of a verb's child ---- */

/* For reading only: the files belong to this user, and their mode lets nobody open them otherwise. */
void memory_hand_over(const char *name, int at) {
  const int *held = parts_of(name);
  for (int i = 0; i < MEMORY_PARTS; i++) {
    int fd = held == NULL ? -1 : open(format_text("/proc/self/fd/%d", held[i]), O_RDONLY);
    if (fd < 0 || dup2(fd, at + i) != at + i) _exit(126);
    if (fd != at + i) close(fd);
  }
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

static void ask(int sentry, const int *targets) {
  static char text[] = "{\"method\":\"containerManager.Checkpoint\",\"arg\":{\"have_pages_file\":true}}";
  union {
    char bytes[CMSG_SPACE(MEMORY_PARTS * sizeof(int))];
    struct cmsghdr aligned;
  } control = {0};
  struct iovec piece = {text, sizeof text - 1};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(MEMORY_PARTS * sizeof(int));
  memcpy(CMSG_DATA(header), targets, MEMORY_PARTS * sizeof(int));
  if (sendmsg(sentry, &message, MSG_NOSIGNAL) != (ssize_t)(sizeof text - 1)) fail("the sandbox cannot be asked");
}

static void wait_readable(struct pollfd *waits, nfds_t count, int64_t deadline_us) {
  int64_t left = deadline_us - clock_us();
  if (left <= 0 || poll(waits, count, (int)(left / 1000) + 1) == 0) fail_with(ETIMEDOUT, "the memory was not saved in time");
}

/* What gVisor says of its state comes through pipes, with a bound, until both have ended. */
static uint64_t take(const int *from, const int *to, uint64_t most, int64_t deadline_us) {
  static char piece[PIECE_BYTES];
  struct pollfd waits[2] = {{.fd = from[0], .events = POLLIN}, {.fd = from[1], .events = POLLIN}};
  uint64_t total = 0;
  while (waits[0].fd >= 0 || waits[1].fd >= 0) {
    wait_readable(waits, 2, deadline_us);
    for (size_t i = 0; i < 2; i++) {
      if (waits[i].fd < 0 || waits[i].revents == 0) continue;
      ssize_t got = read(waits[i].fd, piece, sizeof piece);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("the memory cannot be read");
      if (got == 0) waits[i].fd = -1;
      total += (uint64_t)got;
      if (total > most) fail_with(EFBIG, "the memory is larger than it may be");
      if (!write_whole(to[i], piece, (size_t)got)) fail("the memory cannot be held");
    }
  }
  return total;
}

/* Pages that gVisor writes itself, to their places. They are taken ahead: so they count for this process, and what it would
   write beyond counts for the sandbox, which has a limit. */
static void take_room(int pages, uint64_t most) {
  if (fallocate(pages, FALLOC_FL_KEEP_SIZE, 0, (off_t)most) != 0) fail("there is no memory to hold it");
}

static uint64_t keep_written(int pages, uint64_t most) {
  struct stat info;
  if (fstat(pages, &info) != 0) fail("the memory cannot be read");
  if ((uint64_t)info.st_size > most) fail_with(EFBIG, "the memory is larger than it may be");
  /* What was taken and not needed goes back. */
  if (ftruncate(pages, info.st_size) != 0) fail("the memory cannot be cut");
  return (uint64_t)info.st_size;
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
  int state[2], about[2];
  int64_t deadline_us = clock_us() + (int64_t)request_number(request, "timeoutMs") * 1000;
  uint64_t most = request_number(request, "bytes");
  const int *memory = parts_of(request_text(request, "memory"));
  if (memory == NULL) fail_with(ENOENT, "there is no such memory");
  int sentry = connect_to_sentry(request, deadline_us);
  take_room(memory[2], most);
  if (pipe2(state, O_CLOEXEC) != 0 || pipe2(about, O_CLOEXEC) != 0) fail("no pipe");
  fcntl(state[0], F_SETPIPE_SZ, PIECE_BYTES);
  ask(sentry, (int[]){state[1], about[1], memory[2]});
  close(state[1]);
  close(about[1]);
  uint64_t bytes = take((int[]){state[0], about[0]}, memory, most, deadline_us);
  struct pollfd wait = {.fd = sentry, .events = POLLIN};
  wait_readable(&wait, 1, deadline_us);
  ssize_t got = read(sentry, answer, ANSWER_BYTES);
  answer[got > 0 ? got : 0] = '\0';
  if (strncmp(answer, "{\"success\":true", 15) != 0) refuse(answer);
  bytes += keep_written(memory[2], most);
  reply_ok("bytes=%llu %s", (unsigned long long)bytes, memory_places(request_text(request, "memory")));
}
