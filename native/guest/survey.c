#define _GNU_SOURCE
#include "worker.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* gVisor loses a sandbox whose memory it is to save while a program waits for a TCP connection by epoll. This worker looks for
   one beforehand, and writes its name. What begins to wait after the look is not seen. */

enum { INODES_MAX = 4096, LINE_BYTES = 512, NAME_BYTES = 64, INODE_COLUMN = 9 };

static unsigned long inodes[INODES_MAX];
static size_t inode_count;

static void read_sockets(const char *path) {
  char line[LINE_BYTES];
  FILE *file = fopen(path, "re");
  if (!file) return;
  for (int row = 0; fgets(line, sizeof line, file); row++) {
    char *left = line, *word = NULL;
    for (int column = 0; row && column <= INODE_COLUMN; column++) word = strtok_r(column ? NULL : line, " \n", &left);
    unsigned long inode = word ? strtoul(word, NULL, 10) : 0;
    if (inode && inode_count < INODES_MAX) inodes[inode_count++] = inode;
  }
  fclose(file);
}

static bool is_tcp(const char *target) {
  unsigned long inode;
  if (sscanf(target, "socket:[%lu]", &inode) != 1) return false;
  for (size_t i = 0; i < inode_count; i++)
    if (inodes[i] == inode) return true;
  return false;
}

static bool waits(int process) {
  bool epoll = false, tcp = false;
  int folder = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *descriptors = folder < 0 ? NULL : fdopendir(folder);
  if (!descriptors) return false;
  for (struct dirent *entry; !(epoll && tcp) && (entry = readdir(descriptors));) {
    char target[NAME_BYTES];
    ssize_t size = readlinkat(folder, entry->d_name, target, sizeof target - 1);
    if (size <= 0) continue;
    target[size] = '\0';
    epoll |= !strcmp(target, "anon_inode:[eventpoll]");
    tcp |= is_tcp(target);
  }
  closedir(descriptors);
  return epoll && tcp;
}

static int tell(int process) {
  char name[NAME_BYTES];
  int fd = openat(process, "comm", O_RDONLY | O_CLOEXEC);
  ssize_t size = fd < 0 ? 0 : read(fd, name, sizeof name);
  if (size <= 0) return write_all(OUT, "?\n", 2);
  return write_all(OUT, name, (size_t)size);
}

int survey(void) {
  read_sockets("/proc/net/tcp");
  read_sockets("/proc/net/tcp6");
  DIR *processes = opendir("/proc");
  if (!processes) return -1;
  int result = 0;
  for (struct dirent *entry; (entry = readdir(processes));) {
    if (!isdigit((unsigned char)*entry->d_name) || !strcmp(entry->d_name, "1")) continue; /* the guest itself lets go */
    int process = openat(dirfd(processes), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (process < 0) continue;
    bool found = waits(process);
    if (found) result = tell(process);
    close(process);
    if (found) break;
  }
  closedir(processes);
  return result;
}
