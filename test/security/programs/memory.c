/* Memory, in each form in which a process can hold it. Each prints `reached N` in MB as it goes. */
#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STEP = 4 << 20, STEP_MB = STEP >> 20 };

static void reached(long megabytes) { say("reached %ld", megabytes); }

static int fill_map(int flags, long most) {
  for (long have = 0; have < most; reached(have += STEP_MB)) {
    char *memory = mmap(NULL, STEP, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) return missed("mmap"), 0;
    memset(memory, 0x5a, STEP);
  }
  return 0;
}

/* fill-memory MB */
static int fill_memory(int count, char **words) {
  return count < 2 ? 64 : fill_map(MAP_PRIVATE | MAP_ANONYMOUS, number(words[1]));
}

/* fill-shared MB */
static int fill_shared(int count, char **words) {
  return count < 2 ? 64 : fill_map(MAP_SHARED | MAP_ANONYMOUS, number(words[1]));
}

/* fill-segments MB: System V segments, which stay when their maker ends; removed where we get that far. */
static int fill_segments(int count, char **words) {
  static int segments[1024];
  long have = 0, most = count > 1 ? number(words[1]) : 0;
  int made = 0;
  for (; have < most && made < 1024; reached(have += STEP_MB)) {
    int segment = shmget(IPC_PRIVATE, STEP, IPC_CREAT | 0600);
    char *memory = segment < 0 ? (char *)-1 : shmat(segment, NULL, 0);
    if (memory == (char *)-1) {
      missed("a segment");
      break;
    }
    segments[made++] = segment;
    memset(memory, 0x5a, STEP);
  }
  for (int i = 0; i < made; i++) shmctl(segments[i], IPC_RMID, NULL);
  return 0;
}

static int fill_descriptor(int fd, long most) {
  static char bytes[STEP];
  memset(bytes, 0x5a, sizeof bytes);
  for (long have = 0; have < most; reached(have += STEP_MB))
    for (size_t at = 0; at < sizeof bytes;) {
      ssize_t done = write(fd, bytes + at, sizeof bytes - at);
      if (done < 0) return missed("write"), 0;
      at += (size_t)done;
    }
  return 0;
}

/* fill-memfd MB */
static int fill_memfd(int count, char **words) {
  return count < 2 ? 64 : fill_descriptor(memfd_create("bomb", 0), number(words[1]));
}

/* fill-file PATH MB [keep]: on a disk this is also the page cache; removed at the end unless kept. */
static int fill_file(int count, char **words) {
  if (count < 3) return 64;
  int fd = open(words[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return missed("opening %s", words[1]), 0;
  fill_descriptor(fd, number(words[2]));
  if (fsync(fd) < 0) missed("fsync");
  if (count < 4) unlink(words[1]);
  return 0;
}

static bool fill_pair(int pair[2], size_t *total) {
  static char bytes[65536];
  ssize_t done;
  int size = 1 << 24;
  setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  setsockopt(pair[1], SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  fcntl(pair[0], F_SETFL, O_NONBLOCK);
  while ((done = write(pair[0], bytes, sizeof bytes)) > 0) *total += (size_t)done;
  return errno == EAGAIN;
}

static bool unix_pair(int pair[2]) { return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0; }

static bool tcp_pair(int pair[2]) {
  static int server = -1;
  static struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t size = sizeof address;
  if (server < 0) {
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(server, (struct sockaddr *)&address, size) < 0 || listen(server, 64) < 0) return false;
    getsockname(server, (struct sockaddr *)&address, &size);
  }
  pair[0] = socket(AF_INET, SOCK_STREAM, 0);
  if (pair[0] < 0 || connect(pair[0], (struct sockaddr *)&address, sizeof address) < 0) return false;
  return (pair[1] = accept(server, NULL, NULL)) >= 0;
}

static bool pipe_pair(int pair[2]) {
  int ends[2];
  if (pipe(ends) < 0) return false;
  fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
  pair[0] = ends[1], pair[1] = ends[0];
  return true;
}

static int fill_pairs(bool (*make)(int pair[2]), long most) {
  size_t total = 0;
  int pair[2];
  while ((long)(total >> 20) < most) {
    if (!make(pair)) return missed("a pair"), reached((long)(total >> 20)), 0;
    if (!fill_pair(pair, &total)) return missed("filling"), reached((long)(total >> 20)), 0;
    reached((long)(total >> 20));
  }
  return 0;
}

/* fill-buffers unix|tcp|pipe MB: memory of the kernel, in sockets and pipes that nobody reads. */
static int fill_buffers(int count, char **words) {
  if (count < 3) return 64;
  long most = number(words[2]);
  if (!strcmp(words[1], "unix")) return fill_pairs(unix_pair, most);
  if (!strcmp(words[1], "tcp")) return fill_pairs(tcp_pair, most);
  return fill_pairs(pipe_pair, most);
}

const struct command memory_commands[] = {
    {"fill-memory", fill_memory}, {"fill-shared", fill_shared}, {"fill-segments", fill_segments},
    {"fill-memfd", fill_memfd},   {"fill-file", fill_file},     {"fill-buffers", fill_buffers},
    {NULL, NULL},
};
