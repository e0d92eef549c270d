/* Inter-process communication: System V and POSIX. */
#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { INDEXES = 256 };

struct message {
  long type;
  char text[256];
};

/* hold-system-v KEY SECRET: a segment and a queue that anybody may read, until standard input ends. */
static int hold_system_v(int count, char **words) {
  struct message message = {1, ""};
  char byte;
  if (count < 3) return 64;
  key_t key = (key_t)number(words[1]);
  int segment = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0666);
  char *memory = segment < 0 ? (char *)-1 : shmat(segment, NULL, 0);
  if (memory == (char *)-1) return missed("holding a segment"), 1;
  strncpy(memory, words[2], 255);
  int queue = msgget(key, IPC_CREAT | IPC_EXCL | 0666);
  strncpy(message.text, words[2], sizeof message.text - 1);
  if (queue < 0 || msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT) < 0) missed("holding a queue");
  say("ready");
  while (read(0, &byte, 1) > 0) {
  }
  shmctl(segment, IPC_RMID, NULL);
  if (queue >= 0) msgctl(queue, IPC_RMID, NULL);
  return 0;
}

static void show_segment(int segment) {
  const char *memory = segment < 0 ? (char *)-1 : shmat(segment, NULL, SHM_RDONLY);
  if (memory == (char *)-1) return;
  say("segment %d holds %.255s", segment, memory);
  shmdt(memory);
}

/* read-system-v KEY: by its key, and every other there is. */
static int read_system_v(int count, char **words) {
  struct message message;
  struct shmid_ds info;
  if (count < 2) return 64;
  key_t key = (key_t)number(words[1]);
  int segment = shmget(key, 0, 0);
  if (segment < 0) missed("finding the segment");
  show_segment(segment);
  for (int i = 0; i < INDEXES; i++) {
    show_segment(i);
    show_segment(shmctl(i, SHM_STAT, &info));
  }
  int queue = msgget(key, 0);
  if (queue < 0 || msgrcv(queue, &message, sizeof message.text, 0, IPC_NOWAIT | MSG_NOERROR | 040000 /* MSG_COPY */) < 0)
    return missed("reading the queue"), 0;
  say("queue holds %.255s", message.text);
  return 0;
}

struct queue_form {
  long flags, messages, size, waiting, rest[4];
};

/* hold-queue NAME SECRET: a POSIX message queue, by the call itself: musl wants no slash more than the kernel. */
static int hold_queue(int count, char **words) {
  char byte;
  struct queue_form form = {0, 4, 256, 0, {0}};
  if (count < 3) return 64;
  long queue = syscall(SYS_mq_open, words[1], O_CREAT | O_EXCL | O_RDWR, 0666, &form);
  if (queue < 0 || syscall(SYS_mq_timedsend, queue, words[2], strlen(words[2]), 1, NULL) < 0) return missed("holding a queue"), 1;
  say("ready");
  while (read(0, &byte, 1) > 0) {
  }
  return (int)syscall(SYS_mq_unlink, words[1]);
}

/* read-queue NAME: and puts it back. */
static int read_queue(int count, char **words) {
  char text[257] = "";
  if (count < 2) return 64;
  long queue = syscall(SYS_mq_open, words[1], O_RDWR | O_NONBLOCK, 0, NULL);
  long size = queue < 0 ? -1 : syscall(SYS_mq_timedreceive, queue, text, 256L, NULL, NULL);
  if (size < 0) return missed("reading the queue"), 0;
  say("queue holds %s", text);
  syscall(SYS_mq_timedsend, queue, text, size, 1, NULL);
  return 0;
}

/* hold-file PATH SECRET: readable by everybody, until standard input ends. */
static int hold_file(int count, char **words) {
  char byte;
  if (count < 3) return 64;
  int fd = open(words[1], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0 || write(fd, words[2], strlen(words[2])) < 0) return missed("holding %s", words[1]), 1;
  say("ready");
  while (read(0, &byte, 1) > 0) {
  }
  return unlink(words[1]);
}

const struct command ipc_commands[] = {
    {"hold-system-v", hold_system_v}, {"read-system-v", read_system_v}, {"hold-queue", hold_queue},
    {"read-queue", read_queue},       {"hold-file", hold_file},         {NULL, NULL},
};
