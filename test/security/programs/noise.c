/* Runs that do not end, or do not end well. */
#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* flood CHANNEL BYTES BREAK: 0 bytes means for ever; BREAK is the line's length, 0 for one line. */
static int flood(int count, char **words) {
  static char bytes[65536];
  if (count < 4) return 64;
  int fd = atoi(words[1]);
  long long left = atoll(words[2]);
  bool endless = left == 0;
  long line = number(words[3]);
  memset(bytes, 'y', sizeof bytes);
  for (size_t i = (size_t)line; line > 0 && i < sizeof bytes; i += (size_t)line) bytes[i] = '\n';
  while (endless || left > 0) {
    size_t size = endless || left > (long long)sizeof bytes ? sizeof bytes : (size_t)left;
    ssize_t done = write(fd, bytes, size);
    if (done < 0 && errno != EAGAIN) return 1;
    if (done > 0) left -= done;
  }
  return 0;
}

/* spin N MS: so many processes that do nothing but compute; 0 MS means for ever. */
static int spin(int count, char **words) {
  if (count < 3) return 64;
  long end = milliseconds() + number(words[2]);
  bool endless = number(words[2]) == 0;
  for (long i = 1; i < number(words[1]); i++) {
    pid_t pid = fork();
    if (pid < 0) missed("fork");
    if (pid == 0) break;
  }
  say("ready");
  while (endless || milliseconds() < end)
    for (volatile long i = 0; i < 1000000; i++) {
    }
  return 0;
}

/* ignore-signals MS: everything that can be ignored. */
static int ignore_signals(int count, char **words) {
  for (int number = 1; number < 65; number++) signal(number, SIG_IGN);
  say("ready");
  for (long end = milliseconds() + (count > 1 ? number(words[1]) : 0); milliseconds() < end;) usleep(10000);
  say("still here");
  return 0;
}

static int sleep_for_ever(int count, char **words) {
  (void)count, (void)words;
  say("ready");
  while (pause() < 0) {
  }
  return 0;
}

/* daemon MARK [hold]: twice forked, in a session of its own, with no descriptor left; with hold it keeps the output. */
static int become_daemon(int count, char **words) {
  if (count < 2) return 64;
  if (fork() == 0) {
    setsid();
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    if (fork() == 0) {
      if (count < 3)
        for (int fd = 0; fd < 64; fd++) close(fd);
      execl("/proc/self/exe", words[1], "sleep-for-ever", NULL);
      _exit(127);
    }
    _exit(0);
  }
  wait(NULL);
  return 0;
}

/* reopen-output: by its name in /proc, for reading and writing, and keeps it in a child. */
static int reopen_output(int count, char **words) {
  (void)count, (void)words;
  say("first words");
  for (int number = 0; number < 3; number++) {
    static const int modes[] = {O_RDONLY, O_WRONLY, O_RDWR};
    for (int i = 0; i < 3; i++) {
      char path[64];
      snprintf(path, sizeof path, "/proc/self/fd/%d", number);
      int fd = open(path, modes[i] | O_NONBLOCK);
      if (fd >= 0 && modes[i] != O_RDONLY && number == 1 && write(fd, "by another name\n", 16) < 0) missed("writing");
    }
  }
  if (fork() == 0)
    for (;;) pause();
  say("last words");
  return 0;
}

const struct command noise_commands[] = {
    {"flood", flood},
    {"spin", spin},
    {"ignore-signals", ignore_signals},
    {"sleep-for-ever", sleep_for_ever},
    {"daemon", become_daemon},
    {"reopen-output", reopen_output},
    {NULL, NULL},
};
