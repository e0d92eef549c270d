/* A run's pipes are root's, and under gVisor they can be given neither a mode nor another owner: opening them anew by the
   names of standard streams would be refused. What is a pipe is duplicated instead, which comes to the same. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The descriptor of a pipe that the path names, or -1. */
static int pipe_of(const char *path) {
  static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
  struct stat info;
  if (!path || strncmp(path, "/dev/std", 8)) return -1;
  for (int fd = 0; fd < 3; fd++)
    if (!strcmp(path, names[fd])) return fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode) ? fd : -1;
  return -1;
}

static int open_at(int folder, const char *path, int flags, mode_t mode) {
  int fd = pipe_of(path);
  if (fd >= 0) return fcntl(fd, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
  return (int)syscall(SYS_openat, folder, path, flags, mode);
}

#define MODE(flags, mode)                                      \
  mode_t mode = 0;                                             \
  if ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE) { \
    va_list rest;                                              \
    va_start(rest, flags);                                     \
    mode = va_arg(rest, mode_t);                               \
    va_end(rest);                                              \
  }

int open(const char *path, int flags, ...) {
  MODE(flags, mode)
  return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  MODE(flags, mode)
  return open_at(folder, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int folder, const char *path, int flags, ...) __attribute__((alias("openat")));
