/* Names that change under a reader's feet, and names that no reader expects. */
#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* swap FOLDER LINK MS: exchanges the two for so long; FOLDER is a folder of files, LINK leads elsewhere. */
static int swap(int count, char **words) {
  long swaps = 0;
  if (count < 4) return 64;
  say("ready");
  for (long end = milliseconds() + number(words[3]); milliseconds() < end; swaps++)
    if (syscall(SYS_renameat2, AT_FDCWD, words[1], AT_FDCWD, words[2], 2 /* EXCHANGE */) < 0) {
      /* Where there is no exchange the link takes the folder's place by way of a third name. */
      rename(words[1], "swap-third");
      rename(words[2], words[1]);
      rename("swap-third", words[2]);
    }
  say("swapped %ld times", swaps);
  return 0;
}

/* lay-swap FOLDER LINK TARGET FILE TEXT: what `swap` needs. */
static int lay_swap(int count, char **words) {
  char path[4096];
  if (count < 6) return 64;
  mkdir(words[1], 0755);
  snprintf(path, sizeof path, "%s/%s", words[1], words[4]);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0 || write(fd, words[5], strlen(words[5])) < 0) return missed("laying %s", path), 1;
  unlink(words[2]);
  if (symlink(words[3], words[2]) < 0) return missed("laying %s", words[2]), 1;
  return 0;
}

static const char *const odd_names[] = {
    "with\nnewline", "with\ttab", "\xff\xfe-no-utf8", "%2e%2e", "..%2fetc%2fpasswd", "\xe2\x80\xae-reversed", "-rf", "$(id)", "`id`",
    "a\\b", "...", " ", "\x1b[31mred", "\xc0\xae\xc0\xae",
};

/* odd-names: a file of each, holding its number. */
static int make_odd_names(int count, char **words) {
  (void)count, (void)words;
  for (size_t i = 0; i < sizeof odd_names / sizeof *odd_names; i++) {
    int fd = open(odd_names[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || dprintf(fd, "odd %zu", i) < 0) missed("name %zu", i);
    if (fd >= 0) close(fd);
  }
  say("reached %zu", sizeof odd_names / sizeof *odd_names);
  return 0;
}

/* pipe NAME: a FIFO; socket NAME would need a server that stays. */
static int make_pipe(int count, char **words) {
  if (count < 2 || mkfifo(words[1], 0666) < 0) return missed("mkfifo"), 1;
  return 0;
}

const struct command swap_commands[] = {
    {"swap", swap}, {"lay-swap", lay_swap}, {"odd-names", make_odd_names}, {"pipe", make_pipe}, {NULL, NULL},
};
