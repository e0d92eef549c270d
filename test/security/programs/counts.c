/* Things that are counted for a sandbox: processes, threads, descriptors, inodes, blocks. Each prints `reached N`. */
#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 4096 };

/* fork N: children that wait to be ended. */
static int make_children(int count, char **words) {
  static pid_t children[CHILDREN];
  long made = 0, most = count > 1 ? number(words[1]) : 0;
  for (; made < most && made < CHILDREN; made++) {
    pid_t pid = fork();
    if (pid == 0)
      for (;;) pause();
    if (pid < 0) {
      missed("fork");
      break;
    }
    children[made] = pid;
  }
  say("reached %ld", made);
  for (long i = 0; i < made; i++) kill(children[i], SIGKILL);
  while (wait(NULL) > 0) {
  }
  return 0;
}

/* fork-for-ever MS: every process forks again, each in a session of its own, deaf to what can be ignored. */
static int fork_for_ever(int count, char **words) {
  long end = milliseconds() + (count > 1 ? number(words[1]) : 0);
  signal(SIGTERM, SIG_IGN);
  signal(SIGCHLD, SIG_IGN);
  while (milliseconds() < end)
    if (fork() == 0) setsid();
  return 0;
}

static void *wait_for_ever(void *nothing) {
  while (pause() < 0) {
  }
  return nothing;
}

/* threads N */
static int make_threads(int count, char **words) {
  long made = 0, most = count > 1 ? number(words[1]) : 0;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 16384);
  for (pthread_t thread; made < most; made++)
    if ((errno = pthread_create(&thread, &small, wait_for_ever, NULL)) != 0) {
      missed("a thread");
      break;
    }
  say("reached %ld", made);
  return 0;
}

/* open-files N: after asking for the limit to be raised. */
static int open_files(int count, char **words) {
  long made = 0, most = count > 1 ? number(words[1]) : 0;
  struct rlimit more = {(rlim_t)most + 64, (rlim_t)most + 64};
  if (setrlimit(RLIMIT_NOFILE, &more) < 0) missed("raising the limit");
  while (made < most && open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) made++;
  if (made < most) missed("open");
  say("reached %ld", made);
  return 0;
}

/* make-files FOLDER N: empty ones, all of which are removed again. */
static int make_files(int count, char **words) {
  char path[4096];
  long made = 0, most = count > 2 ? number(words[2]) : 0;
  if (count < 3 || (mkdir(words[1], 0755) < 0 && errno != EEXIST)) return missed("mkdir"), 64;
  for (; made < most; made++) {
    snprintf(path, sizeof path, "%s/%ld", words[1], made);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
      missed("making a file");
      break;
    }
    close(fd);
  }
  say("reached %ld", made);
  return 0;
}

/* sparse PATH LENGTH-GB WRITE-MB: a file that claims to be huge, with so much really written, spread over it. The blocks
   are never reserved: on the host a twin would fill the disk. */
static int make_sparse(int count, char **words) {
  static char block[1 << 20];
  struct stat info;
  if (count < 4) return 64;
  int fd = open(words[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  off_t length = (off_t)number(words[2]) << 30, written = 0;
  if (fd < 0 || ftruncate(fd, length) < 0) missed("a file of %s GB", words[2]);
  memset(block, 0x5a, sizeof block);
  for (; fd >= 0 && written < number(words[3]); written++)
    if (pwrite(fd, block, sizeof block, written * (length / (number(words[3]) + 1))) != sizeof block) {
      missed("writing");
      break;
    }
  if (fd < 0 || fsync(fd) < 0 || fstat(fd, &info) < 0) missed("fsync");
  else say("length %lld, %lld blocks", (long long)info.st_size, (long long)info.st_blocks);
  say("reached %lld", (long long)written);
  return 0;
}

/* deep N: folders in folders. */
static int make_deep(int count, char **words) {
  long made = 0, most = count > 1 ? number(words[1]) : 0;
  while (made < most && mkdir("d", 0755) == 0 && chdir("d") == 0) made++;
  if (made < most) missed("mkdir");
  int fd = open("bottom", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, "bottom", 6) < 0) missed("the file at the bottom");
  say("reached %ld", made);
  return 0;
}

const struct command count_commands[] = {
    {"fork", make_children},         {"fork-for-ever", fork_for_ever}, {"threads", make_threads},
    {"open-files", open_files},      {"make-files", make_files},       {"sparse", make_sparse},
    {"deep", make_deep},             {NULL, NULL},
};
