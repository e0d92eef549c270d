#define _GNU_SOURCE
#include "worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

/* File operations run in a forked worker with the user's rights and filter; the guest's own loop never touches a path
   of user code (hazard 6). The worker's input and output are the stream's; its exit code is an errno. */

/* A row of STAT and LIST: this, then the path, then a link's target. */
struct row {
  uint32_t mode, path_size, target_size, reserved;
  uint64_t size, mtime_ns;
};

volatile sig_atomic_t aborted;
static void on_abort(int number) {
  (void)number;
  aborted = 1;
}

int write_all(int fd, const void *data, size_t size) {
  for (const char *at = data; size > 0;) {
    if (aborted) return errno = ECANCELED, -1;
    ssize_t done = write(fd, at, size);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return -1;
    at += done;
    size -= (size_t)done;
  }
  return 0;
}

static int write_row(int folder, const char *name, const char *shown, const struct stat *info) {
  char target[PATH_BYTES];
  ssize_t target_size = S_ISLNK(info->st_mode) ? readlinkat(folder, name, target, sizeof target) : 0;
  if (target_size < 0) {
    if (errno != ENOENT && errno != EINVAL && !walk_shut(errno)) return -1;
    target_size = 0; /* gone meanwhile, or no link any more */
  }
  struct row row = {.mode = info->st_mode,
                    .path_size = (uint32_t)strlen(shown),
                    .target_size = (uint32_t)target_size,
                    .size = (uint64_t)info->st_size,
                    .mtime_ns = (uint64_t)info->st_mtim.tv_sec * 1000000000u + (uint64_t)info->st_mtim.tv_nsec};
  if (write_all(OUT, &row, sizeof row) < 0 || write_all(OUT, shown, row.path_size) < 0) return -1;
  return write_all(OUT, target, row.target_size);
}

static int open_regular(const char *path, int flags) {
  struct stat info;
  int fd = walk_open(path, flags);
  if (fd < 0) return -1;
  if (fstat(fd, &info) < 0) return -1;
  if (S_ISDIR(info.st_mode)) return errno = EISDIR, -1;
  if (!S_ISREG(info.st_mode)) return errno = ENXIO, -1;
  return fd;
}

/* A row with the size, then the bytes of the range; length 0 means up to the end. */
static int read_file(const struct spec *spec) {
  static char buffer[64 * 1024];
  struct stat info;
  int fd = open_regular(spec->path, O_RDONLY);
  if (fd < 0 || fstat(fd, &info) < 0) return -1;
  if (write_row(-1, "", "", &info) < 0) return -1;
  uint64_t left = spec->length ? spec->length : UINT64_MAX, at = spec->offset;
  while (left > 0) {
    size_t wanted = left < sizeof buffer ? (size_t)left : sizeof buffer;
    ssize_t size = pread(fd, buffer, wanted, (off_t)at);
    if (size < 0) return -1;
    if (size == 0) return 0;
    if (write_all(OUT, buffer, (size_t)size) < 0) return -1;
    at += (uint64_t)size;
    left -= (uint64_t)size;
  }
  return 0;
}

/* A file that the user may not write stays, though the user could put another in its place. */
static int check_writable(int folder, const char *name) {
  struct stat info;
  if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) < 0) return errno == ENOENT ? 0 : -1;
  if (S_ISDIR(info.st_mode)) return errno = EISDIR, -1;
  return S_ISLNK(info.st_mode) ? 0 : faccessat(folder, name, W_OK, 0);
}

/* Into a new file beside the target, renamed over it when whole: a reader sees the old file or the new one. */
static int write_file(const struct spec *spec) {
  static char buffer[64 * 1024];
  char last[256], temporary[64];
  int folder = walk_parent(spec->path, spec->flags & FLAG_PARENTS, last);
  if (folder < 0 || check_writable(folder, last) < 0) return -1;
  snprintf(temporary, sizeof temporary, ".caisson-upload-%d", getpid());
  int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  ssize_t size = 0;
  while (!aborted && (size = read(IN, buffer, sizeof buffer)) > 0)
    if (write_all(fd, buffer, (size_t)size) < 0) break;
  int error = aborted ? ECANCELED : size == 0 ? 0 : errno;
  if (!error && fchmod(fd, spec->mode ? (mode_t)spec->mode & 0777 : 0644) < 0) error = errno;
  if (!error && close(fd) < 0) error = errno;
  if (!error && renameat(folder, temporary, folder, last) < 0) error = errno;
  if (error) unlinkat(folder, temporary, 0);
  return error ? (errno = error, -1) : 0;
}

struct listing {
  const char *prefix;
  bool recursive;
  int depth;
};

static int list_one(int folder, const char *name, void *about) {
  const struct listing *at = about;
  char shown[PATH_BYTES];
  struct stat info;
  if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) < 0) return errno == ENOENT || walk_shut(errno) ? 0 : -1;
  if ((size_t)snprintf(shown, sizeof shown, "%s%s", at->prefix, name) >= sizeof shown - 1) return errno = ENAMETOOLONG, -1;
  if (write_row(folder, name, shown, &info) < 0) return -1;
  if (!at->recursive || !S_ISDIR(info.st_mode)) return 0;
  int inner = walk_folder(folder, name);
  if (inner < 0) return errno == ENOENT || walk_shut(errno) ? 0 : -1; /* its own row stands */
  struct listing below = {strcat(shown, "/"), true, at->depth + 1};
  return walk_each(inner, below.depth, list_one, &below);
}

/* The last row has END in place of a path's size: a list without it is not whole. */
static int list(const struct spec *spec) {
  static const struct row end = {.path_size = END};
  struct listing top = {"", spec->flags & FLAG_RECURSIVE, 0};
  int folder = walk_open(spec->path, O_RDONLY | O_DIRECTORY);
  if (folder < 0 || walk_each(folder, 0, list_one, &top) < 0) return -1;
  return write_all(OUT, &end, sizeof end);
}

/* Of the name itself, so a link is told as a link. */
static int stat_path(const struct spec *spec) {
  char last[256] = "";
  struct stat info;
  int folder = walk_parent(spec->path, false, last);
  if (folder < 0 && errno == EBUSY) folder = walk_open(spec->path, O_RDONLY | O_DIRECTORY);
  if (folder < 0) return -1;
  if ((last[0] ? fstatat(folder, last, &info, AT_SYMLINK_NOFOLLOW) : fstat(folder, &info)) < 0) return -1;
  return write_row(folder, last, last, &info);
}

static int make_folder(const struct spec *spec) {
  char last[256];
  int folder = walk_parent(spec->path, spec->flags & FLAG_PARENTS, last);
  if (folder < 0) return -1;
  if (mkdirat(folder, last, 0755) == 0) return 0;
  struct stat info;
  if (errno == EEXIST && spec->flags & FLAG_PARENTS && fstatat(folder, last, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISDIR(info.st_mode))
    return 0;
  errno = EEXIST;
  return -1;
}

static int move(const struct spec *spec) {
  char from[256], to[256];
  struct stat info;
  int source = walk_parent(spec->path, false, from);
  if (source < 0) return -1;
  int target = walk_parent(spec->target, spec->flags & FLAG_PARENTS, to);
  if (target < 0) return -1;
  if (!(spec->flags & FLAG_REPLACE)) {
    if (fstatat(target, to, &info, AT_SYMLINK_NOFOLLOW) == 0) return errno = EEXIST, -1;
    if (errno != ENOENT) return -1;
  }
  if (renameat(source, from, target, to) == 0) return 0;
  if (errno == EXDEV) errno = EOPNOTSUPP; /* EXDEV is what a path that leads out is answered with */
  return -1;
}

static int remove_one(int folder, const char *name, void *depth) { return remove_tree(folder, name, *(int *)depth); }

int remove_tree(int folder, const char *name, int depth) {
  if (unlinkat(folder, name, 0) == 0) return 0;
  if (errno != EISDIR && errno != EPERM) return -1;
  if (unlinkat(folder, name, AT_REMOVEDIR) == 0) return 0;
  if (errno != ENOTEMPTY && errno != EEXIST) return -1;
  int inner = walk_folder(folder, name), below = depth + 1;
  if (inner < 0 || walk_each(inner, depth, remove_one, &below) < 0) return -1;
  return unlinkat(folder, name, AT_REMOVEDIR);
}

static int remove_path(const struct spec *spec) {
  char last[256];
  struct stat info;
  int folder = walk_parent(spec->path, false, last);
  if (folder < 0) return -1;
  if (spec->flags & FLAG_RECURSIVE) return remove_tree(folder, last, 0);
  if (fstatat(folder, last, &info, AT_SYMLINK_NOFOLLOW) < 0) return -1;
  return unlinkat(folder, last, S_ISDIR(info.st_mode) ? AT_REMOVEDIR : 0);
}

static int operate(uint8_t kind, const struct spec *spec) {
  switch ((enum stream_kind)kind) {
    case KIND_READ: return read_file(spec);
    case KIND_WRITE: return write_file(spec);
    case KIND_LIST: return list(spec);
    case KIND_STAT: return stat_path(spec);
    case KIND_MKDIR: return make_folder(spec);
    case KIND_MOVE: return move(spec);
    case KIND_REMOVE: return remove_path(spec);
    case KIND_PACK: return pack(spec);
    case KIND_UNPACK: return unpack(spec);
    case KIND_SEARCH: return search(spec);
    case KIND_RESTORE: return restore(spec);
    case KIND_PLACE: return deliver(spec);
    case KIND_BUSY: return busy();
    default: break;
  }
  return errno = EINVAL, -1;
}

static _Noreturn void work(uint8_t kind, const struct spec *spec, int in, int out) {
  struct sigaction abort_action = {.sa_handler = on_abort}; /* no SA_RESTART: a waiting read must return */
  sigset_t none;
  sigemptyset(&none);
  if (dup2(in, IN) < 0 || dup2(out, OUT) < 0) _exit(errno);
  close_all_from(2);
  sigaction(SIGTERM, &abort_action, NULL);
  signal(SIGPIPE, SIG_IGN);
  sigprocmask(SIG_SETMASK, &none, NULL);
  prctl(PR_SET_NAME, "caisson-file");
  if ((kind == KIND_PLACE ? privilege_drop_but_root(spec) : privilege_drop(spec)) < 0) _exit(errno);
  prctl(PR_SET_DUMPABLE, 0);
  umask(022);
  _exit(operate(kind, spec) < 0 ? errno : 0);
}

void file_start(struct stream *s, struct spec *spec) {
  int in[2] = {-1, -1}, out[2] = {-1, -1};
  if (!spec->path || ((s->kind == KIND_MOVE || s->kind == KIND_UNPACK) && !spec->target)) return stream_fail(s, EINVAL);
  pid_t pid = -1;
  int error = 0;
  if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || (pid = fork()) < 0) error = errno;
  if (pid == 0) work(s->kind, spec, in[0], out[1]);
  if (in[0] >= 0) close(in[0]);
  if (out[1] >= 0) close(out[1]);
  if (pid < 0) {
    if (in[1] >= 0) close(in[1]);
    if (out[0] >= 0) close(out[0]);
    return stream_fail(s, error);
  }
  s->pid = pid;
  children_left = true;
  s->started = true;
  s->in.fd = in[1];
  s->out[0].fd = out[0];
  s->out[0].armed = true;
  fcntl(in[1], F_SETFL, O_NONBLOCK);
  poll_add(in[1], 0, POLL_INPUT, s->slot);
  poll_add(out[0], EPOLLIN, POLL_OUTPUT, s->slot);
}
