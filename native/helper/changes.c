/*
 * What changed in a workspace since the last mark. Code in the sandbox may rename under our feet, so the walk is done
 * by a process that has the workspace as its root, the sandbox's user as its own and no right beyond that, one directory
 * descriptor at a time (hazard 1). The files it writes are opened before it gives its rights up: the owner names two
 * for marks in turn, so that the last one stays whole until the next one is.
 */
#include "helper.h"

#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { WALK_MEMORY_BYTES = 256 << 20, WALK_FILE_BYTES = 64 << 20, EMPTY_NAME_BYTES = 128 };

struct task {
  const struct request *request;
  int workspace;
  int old_mark;
  int new_mark;
  int out;
};

static int compare_numbers(const void *left, const void *right) { return *(const int *)left - *(const int *)right; }

static void close_range_of(unsigned first, unsigned last) {
  if (first > last || syscall(SYS_close_range, first, last, 0) == 0) return;
  for (unsigned fd = first; fd <= last && fd < 4096; fd++) close((int)fd);
}

void keep_only(int *fds, size_t count) {
  unsigned next = 3;
  qsort(fds, count, sizeof *fds, compare_numbers);
  for (size_t i = 0; i < count; i++) {
    if (fds[i] < 3) continue;
    close_range_of(next, (unsigned)fds[i] - 1);
    next = (unsigned)fds[i] + 1;
  }
  close_range_of(next, ~0U);
}

void enter_workspace(const struct request *request, int workspace, int *kept, size_t count) {
  uid_t user = request_user(request);
  keep_only(kept, count);
  if (fchdir(workspace) != 0 || chroot(".") != 0) fail("cannot enter the workspace");
  close(workspace);
  if (setgroups(0, NULL) != 0 || setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0)
    fail("cannot become the user of the sandbox");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
    fail("cannot give up privileges");
  /* The tree is hostile: what reading it may cost the host has an end of its own. */
  struct rlimit memory = {WALK_MEMORY_BYTES, WALK_MEMORY_BYTES}, file = {WALK_FILE_BYTES, WALK_FILE_BYTES};
  if (setrlimit(RLIMIT_AS, &memory) != 0 || setrlimit(RLIMIT_FSIZE, &file) != 0) fail("cannot limit the walk");
  if (setresuid(0, 0, 0) == 0) fail_with(EPERM, "privileges came back");
  die_with_parent();
}

static void give_up_rights(const struct task *task) {
  int kept[] = {task->workspace, task->old_mark, task->new_mark, task->out, reply_descriptor()};
  enter_workspace(task->request, task->workspace, kept, sizeof kept / sizeof *kept);
}

/* Where the clock of the file system ticks slowly, a write in the tick of the mark would look like none. */
void wait_for_next_tick(const struct entries *entries) {
  int64_t newest = 0;
  struct timespec now, step = {.tv_nsec = 500000};
  for (size_t i = 0; i < entries->count; i++)
    if (entries->list[i].ctime_ns > newest) newest = entries->list[i].ctime_ns;
  for (int i = 0; i < 40; i++) {
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (now.tv_sec * 1000000000LL + now.tv_nsec > newest) return;
    nanosleep(&step, NULL);
  }
}

static bool hash_file(int root, const struct entry *entry, uint64_t *budget, char *hex) {
  static uint8_t bytes[1 << 18];
  struct sha256 hash;
  uint8_t digest[32];
  if (!S_ISREG(entry->mode) || entry->size > *budget) return false;
  int fd = walk_open(root, entry->path);
  if (fd < 0) return false;
  sha256_init(&hash);
  /* A regular file reads short only at its end. */
  ssize_t got = sizeof bytes;
  while (got == sizeof bytes && (got = read(fd, bytes, sizeof bytes)) > 0) {
    if ((uint64_t)got > *budget) {
      got = -1;
      break;
    }
    *budget -= (uint64_t)got;
    sha256_update(&hash, bytes, (size_t)got);
  }
  close(fd);
  if (got < 0) return false;
  sha256_final(&hash, digest);
  for (size_t i = 0; i < sizeof digest; i++) {
    hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
    hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
  }
  hex[2 * sizeof digest] = '\0';
  return true;
}

/* `action size sha256-or-dash path NUL`, the path as bytes. */
static void write_changes(const struct task *task, int root, const struct changes *changes, size_t count) {
  uint64_t budget = request_number(task->request, "hashBytes");
  static char buffer[1 << 16];
  FILE *out = fdopen(task->out, "w");
  if (out == NULL) fail("cannot write the changes");
  setvbuf(out, buffer, _IOFBF, sizeof buffer);
  for (size_t i = 0; i < count; i++) {
    const struct change *change = &changes->list[i];
    char hex[65] = "-";
    bool gone = change->action == 'd';
    if (!gone) hash_file(root, change->entry, &budget, hex);
    fprintf(out, "%c %llu %s ", change->action, gone ? 0ULL : (unsigned long long)change->entry->size, hex);
    fwrite(change->entry->path, 1, change->entry->path_length, out);
    fputc('\0', out);
  }
  if (!close_whole(out)) fail("cannot write the changes");
}

static int64_t nanoseconds(struct timespec time) { return time.tv_sec * 1000000000LL + time.tv_nsec; }

/* Of file systems that keep whole seconds, FAT every second one: ext4 with short inodes, and many servers. */
enum { COARSE_SECONDS = 2 };

/* The one folder that a workspace begins with. */
static bool find_output(int folder, struct stat *info) {
  return fstatat(folder, "output", info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info->st_mode);
}

static bool is_past(struct timespec time, struct timespec now) {
  if (time.tv_nsec == 0) time.tv_sec += COARSE_SECONDS;
  return nanoseconds(time) < nanoseconds(now);
}

/*
 * Names an empty folder as it is, or one that holds an empty `output` alone. Whatever is made in either changes the name:
 * its times are past, so that nothing that comes has the same. False where they are not past: before Linux 6.13 all that
 * happens within a tick of the clock has one time.
 */
static bool name_empty(int folder, char name[EMPTY_NAME_BYTES]) {
  struct timespec now;
  struct stat info, output = {0};
  if (clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0 || fstat(folder, &info) != 0) return false;
  bool has_output = find_output(folder, &output);
  snprintf(name, EMPTY_NAME_BYTES, "%llx-%llx-%lld-%llx-%lld", (unsigned long long)info.st_dev,
           (unsigned long long)info.st_ino, (long long)nanoseconds(info.st_ctim), (unsigned long long)output.st_ino,
           (long long)nanoseconds(output.st_ctim));
  return is_past(info.st_ctim, now) && (!has_output || is_past(output.st_ctim, now));
}

static NORETURN void work(const struct task *task) {
  struct walk_limits limits = {.files = request_number(task->request, "files"),
                               .depth = request_number(task->request, "depth"),
                               .path_bytes = request_number(task->request, "pathBytes")};
  struct entries before = {0}, after = {0};
  struct changes changes = {0};
  give_up_rights(task);
  int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) fail("cannot open the workspace");
  char empty[EMPTY_NAME_BYTES];
  bool named = name_empty(root, empty); /* before the walk: what is made meanwhile changes it */
  bool whole = walk(root, request_find(task->request, "skip"), limits, &after);
  if (task->old_mark >= 0) {
    mark_read(task->old_mark, &before);
    compare(&before, &after, whole, &changes);
  }
  uint64_t reported = request_number(task->request, "reported"), told = changes.count;
  bool truncated = !whole || told > reported;
  if (told > reported) told = reported;
  if (told > 0) write_changes(task, root, &changes, told);
  mark_write(task->new_mark, &after);
  wait_for_next_tick(&after);
  struct stat output;
  bool is_empty = named && whole && after.names == (find_output(root, &output) ? 1 : 0);
  reply_ok("changes=%llu truncated=%d%s%s", (unsigned long long)told, truncated ? 1 : 0, is_empty ? " empty=" : "",
           is_empty ? empty : "");
}

/* What is there is written over: a file that is made, or emptied, costs more than the whole walk of a small workspace. */
static int create(const char *path) {
  int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) fail("cannot make %s", path);
  return fd;
}

static int open_workspace_of(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/root/workspace", (int)pid);
  return open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int open_workspace(const struct request *request) {
  pid_t pid = (pid_t)request_number(request, "pid");
  int fd = open_workspace_of(pid);
  if (fd < 0) fail("cannot open the workspace");
  /* The descriptor is checked after it is open: by then the pid cannot have become another's unnoticed. */
  if (!process_in_sandbox(pid, request_text(request, "id"), (uid_t)request_number(request, "base")))
    fail_with(ESRCH, "the sandbox has ended");
  return fd;
}

bool workspace_still_empty(const struct request *request) {
  const char *then = request_find(request, "empty"), *pid = request_find(request, "pid");
  const char *id = request_find(request, "id"), *base = request_find(request, "base");
  char now[EMPTY_NAME_BYTES];
  if (then == NULL || pid == NULL || id == NULL || base == NULL) return false;
  int fd = open_workspace_of((pid_t)atoi(pid));
  if (fd < 0) return false;
  bool same = name_empty(fd, now) && strcmp(now, then) == 0 &&
              process_in_sandbox((pid_t)atoi(pid), id, (uid_t)strtoul(base, NULL, 10));
  close(fd);
  return same;
}

static NORETURN void end_late(int signal) {
  (void)signal;
  fail_late("the workspace could not be read in time");
}

static void limit_time(uint64_t ms) {
  struct itimerval timer = {.it_value = {.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000) * 1000}};
  if (signal(SIGALRM, end_late) == SIG_ERR || setitimer(ITIMER_REAL, &timer, NULL) != 0) fail("cannot limit the walk");
}

/* A name that stands in the sandbox's folder. */
static char *mark_path(const struct request *request, const char *key) {
  const char *name = request_text(request, key);
  if (strchr(name, '/') != NULL) fail_with(EINVAL, "'%s' is no name of a mark", name);
  return format_text("%s/%s", request_text(request, "folder"), name);
}

void verb_changes(const struct request *request) {
  struct task task = {.request = request, .workspace = open_workspace(request), .old_mark = -1};
  limit_time(request_number(request, "timeoutMs"));
  char *last = mark_path(request, "last");
  if (request_find(request, "compare") == NULL)
    close(create(last)); /* nobody waits for a first look, but for the next one, which writes there */
  else if ((task.old_mark = open(last, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)) < 0)
    fail("the workspace has no mark");
  task.new_mark = create(mark_path(request, "mark"));
  task.out = create(format_text("%s/changes.out", request_text(request, "folder")));
  work(&task);
}
