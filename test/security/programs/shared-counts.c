/* Things of which the whole machine, or one user of it, has a fixed number. Each takes up to N, says `reached N` and
   `ready`, and holds them until standard input ends. */
#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int hold(long made, long most) {
  char byte;
  if (made < most) missed("one more");
  say("reached %ld", made);
  say("ready");
  while (read(0, &byte, 1) > 0) {
  }
  return 0;
}

/* take-terminals N: of kernel.pty.max. */
static int take_terminals(int count, char **words) {
  long made = 0, most = count > 1 ? number(words[1]) : 0;
  while (made < most && posix_openpt(O_RDWR | O_NOCTTY) >= 0) made++;
  return hold(made, most);
}

/* take-watchers N: inotify instances, of fs.inotify.max_user_instances. */
static int take_watchers(int count, char **words) {
  long made = 0, most = count > 1 ? number(words[1]) : 0;
  while (made < most && inotify_init1(IN_CLOEXEC) >= 0) made++;
  return hold(made, most);
}

/* take-watches N: of fs.inotify.max_user_watches, each on a folder of its own. */
static int take_watches(int count, char **words) {
  long made = 0, most = count > 1 ? number(words[1]) : 0;
  int watcher = inotify_init1(IN_CLOEXEC);
  for (; watcher >= 0 && made < most; made++) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/watched-%ld", made);
    mkdir(path, 0755);
    if (inotify_add_watch(watcher, path, IN_CREATE) < 0) break;
  }
  int result = hold(made, most);
  for (long i = 0; i <= made; i++) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/watched-%ld", i);
    rmdir(path);
  }
  return result;
}

/* take-queues N: POSIX message queues, whose bytes are counted for a user. */
static int take_queues(int count, char **words) {
  long made = 0, most = count > 1 ? number(words[1]) : 0;
  long form[8] = {0, 10, 8192};
  char name[64];
  for (; made < most; made++) {
    snprintf(name, sizeof name, "caisson-%d-%ld", getpid(), made);
    if (syscall(SYS_mq_open, name, O_CREAT | O_EXCL | O_RDWR, 0600, form) < 0) break;
  }
  int result = hold(made, most);
  for (long i = 0; i < made; i++) {
    snprintf(name, sizeof name, "caisson-%d-%ld", getpid(), i);
    syscall(SYS_mq_unlink, name);
  }
  return result;
}

/* take-requests N: places for asynchronous input and output, of fs.aio-max-nr. */
static int take_requests(int count, char **words) {
  long made = 0, most = count > 1 ? number(words[1]) : 0, step = most > 1024 ? 1024 : most;
  for (unsigned long context = 0; made < most && syscall(SYS_io_setup, step, &context) == 0; context = 0) made += step;
  return hold(made, most);
}

/* take-timers N: POSIX timers, each of which counts as a pending signal of the user. */
static int take_timers(int count, char **words) {
  long made = 0, most = count > 1 ? number(words[1]) : 0;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
  for (timer_t timer; made < most && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0; made++) {
  }
  return hold(made, most);
}

const struct command shared_count_commands[] = {
    {"take-terminals", take_terminals}, {"take-watchers", take_watchers}, {"take-watches", take_watches},
    {"take-queues", take_queues},       {"take-requests", take_requests}, {"take-timers", take_timers},
    {NULL, NULL},
};
