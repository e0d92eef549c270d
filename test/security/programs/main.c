#define _GNU_SOURCE
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void print(const char *head, const char *format, va_list values, int error) {
  printf("%s", head);
  vprintf(format, values);
  if (error) printf(": %s", strerror(error));
  printf("\n");
  fflush(stdout);
}

void gained(const char *format, ...) {
  va_list values;
  va_start(values, format);
  print("GAINED ", format, values, 0);
  va_end(values);
}

void missed(const char *format, ...) {
  int error = errno;
  va_list values;
  va_start(values, format);
  print("missed ", format, values, error);
  va_end(values);
}

void say(const char *format, ...) {
  va_list values;
  va_start(values, format);
  print("", format, values, 0);
  va_end(values);
}

long number(const char *text) { return strtol(text, NULL, 0); }

long milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void show_folder(int fd) {
  DIR *folder = fdopendir(fd);
  struct dirent *entry;
  while (folder && (entry = readdir(folder))) printf("%s\n", entry->d_name);
  if (folder) closedir(folder);
}

bool show_at(int folder, const char *path) {
  char bytes[65536];
  struct stat info;
  int fd = openat(folder, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &info) < 0) {
    missed("reading %s", path);
    return false;
  }
  if (S_ISDIR(info.st_mode)) {
    show_folder(fd);
    return true;
  }
  ssize_t size = read(fd, bytes, sizeof bytes);
  if (size > 0) fwrite(bytes, 1, (size_t)size, stdout);
  printf("\n");
  fflush(stdout);
  close(fd);
  return size >= 0;
}

bool show(const char *path) { return show_at(AT_FDCWD, path); }

bool write_text(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
  int error = errno;
  if (fd >= 0) close(fd);
  errno = error;
  return done;
}

void read_line(const char *path, char *line, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? -1 : read(fd, line, size - 1);
  if (fd >= 0) close(fd);
  line[got > 0 ? got : 0] = 0;
  line[strcspn(line, "\n")] = 0;
}

void each_process(bool (*visit)(pid_t pid, void *context), void *context) {
  DIR *proc = opendir("/proc");
  struct dirent *entry;
  while (proc && (entry = readdir(proc))) {
    pid_t pid = (pid_t)atoi(entry->d_name);
    if (pid > 0 && pid != getpid() && !visit(pid, context)) break;
  }
  if (proc) closedir(proc);
}

struct search {
  pid_t *list;
  size_t size, count;
};

static bool add_target(pid_t pid, void *context) {
  struct search *search = context;
  search->list[search->count++] = pid;
  return search->count < search->size;
}

size_t find_targets(const char *word, pid_t *list, size_t size) {
  struct search search = {list, size, 0};
  if (!strcmp(word, "all")) {
    each_process(add_target, &search);
    return search.count;
  }
  list[0] = strcmp(word, "guest") ? (pid_t)number(word) : 1;
  return 1;
}

bool on_the_machine(void) {
  char name[64] = "";
  return readlink("/proc/self/ns/pid", name, sizeof name - 1) > 0 && !strcmp(name, "pid:[4026531836]");
}

int run_in_child(int count, char **words) {
  int status = 0;
  pid_t pid = fork();
  if (pid == 0) _exit(dispatch(count, words));
  if (pid < 0) return missed("fork"), 1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int dispatch(int count, char **words) {
  static const struct command *const tables[] = {
      reading_commands, call_commands,    mount_commands, node_commands,   identity_commands, socket_commands, ipc_commands,
      process_commands, guest_commands, memory_commands, count_commands, shared_count_commands, noise_commands,    swap_commands,
  };
  for (size_t i = 0; count > 0 && i < sizeof tables / sizeof *tables; i++)
    for (const struct command *command = tables[i]; command->name; command++)
      if (!strcmp(command->name, words[0])) return command->run(count, words);
  fprintf(stderr, "there is no probe '%s'\n", count > 0 ? words[0] : "");
  return 64;
}

int main(int count, char **words) { return dispatch(count - 1, words + 1); }
