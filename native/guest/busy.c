#define _GNU_SOURCE
#include "worker.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes what a stop would take from the sandbox's user, the first of it that is found: a process that no call waits for, or a
   file that lies in memory. */

static int tell(const char *kind, const char *name) {
  char line[64];
  int size = snprintf(line, sizeof line, "%s %.40s\n", kind, name);
  return write_all(OUT, line, (size_t)size) < 0 ? -1 : 1;
}

/* By its real uid: an interpreter that waits for code has the user's rights, and is not the user's yet. 1, 0, or -1 with errno. */
static int is_users(int processes, const char *name) {
  char text[1024];
  char path[64];
  snprintf(path, sizeof path, "%.20s/status", name);
  int fd = openat(processes, path, O_RDONLY | O_CLOEXEC);
  ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  int error = errno;
  if (fd >= 0) close(fd);
  if (size < 0 && error != ENOENT && error != ESRCH) return errno = error, -1;
  if (size <= 0) return 0; /* it has ended */
  text[size] = '\0';
  const char *uid = strstr(text, "\nUid:");
  return uid && strtoul(uid + 5, NULL, 10) == USER_ID;
}

/* A list that could not be read to its end shows nothing. */
static int close_list(DIR *list, int result) {
  int error = errno;
  closedir(list);
  return result == 0 && error ? (errno = error, -1) : result;
}

static int find_process(void) {
  DIR *processes = opendir("/proc");
  if (!processes) return -1;
  int result = 0;
  for (struct dirent *entry; !result && (errno = 0, entry = readdir(processes));) {
    if (!isdigit((unsigned char)*entry->d_name) || atoi(entry->d_name) == getpid()) continue;
    result = is_users(dirfd(processes), entry->d_name);
    if (result > 0) result = tell("process", entry->d_name);
  }
  return close_list(processes, result);
}

static int find_file(const char *path) {
  DIR *folder = opendir(path);
  if (!folder) return errno == ENOENT ? 0 : -1;
  int result = 0;
  for (struct dirent *entry; !result && (errno = 0, entry = readdir(folder));)
    if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) result = tell("file", path);
  return close_list(folder, result);
}

int busy(void) {
  int result = find_process();
  if (!result) result = find_file("/tmp");
  if (!result) result = find_file("/dev/shm");
  return result < 0 ? -1 : 0;
}
