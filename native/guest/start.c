#define _GNU_SOURCE
#include "guest.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "raw.h"

/* A program is started by a newborn that shares this process's memory until it has become the program: copying the memory
   is most of what a start costs. It is not a vfork: user code, whose uid the newborn takes before exec, could stop it there,
   and with it PID 1. The memory is not dumpable, so user code cannot look into a newborn (SBX-03). */

enum { STACK_BYTES = 16 * 1024, CHANNEL = 3, RLIMITS_MAX = 3 };

struct limits {
  int count;
  struct {
    int resource;
    struct rlimit value;
  } list[RLIMITS_MAX];
};

struct start {
  struct start_io io;
  struct pty pty; /* a copy: io's is gone before the newborn looks */
  int tell[2]; /* what stopped the newborn before exec; exec closes it */
  gid_t group;
  const char *folder; /* or NULL: where the guest is */
  const char *search;
  bool any_shell;
  char **arguments, **environment;
  uint8_t *spec;
  struct limits limits;
  char path[PATH_BYTES];
  _Alignas(16) uint8_t stack[STACK_BYTES];
};

/* Newborns start here: the way to a folder is among the dearest calls under gVisor, and most runs want this one. */
static const char usual_folder[] = "/workspace";
static bool in_usual_folder, copy_memory;
static int own_priority; /* the guest may run at a better one */
static struct rlimit most[RLIMITS_MAX];
static const int resources[RLIMITS_MAX] = {RLIMIT_NPROC, RLIMIT_NOFILE, RLIMIT_CPU};
static struct start *spare;
static uint32_t under_way;

/* A change of uid makes memory dumpable again where fs.suid_dumpable says so: then newborns get a copy of it. */
void start_prepare(bool copy) {
  struct rlimit none = {0, 0};
  copy_memory = copy;
  own_priority = getpriority(PRIO_PROCESS, 0);
  in_usual_folder = chdir(usual_folder) == 0; /* user code may have closed it to others */
  if (prctl(PR_GET_DUMPABLE) != 0) die("dumpable");
  if (setrlimit(RLIMIT_CORE, &none) < 0) die("core limit");
  for (int i = 0; i < RLIMITS_MAX; i++)
    if (getrlimit(resources[i], &most[i]) < 0) die("getrlimit");
}

/* ---- the newborn: no C library, and no write outside its own struct start and stack ---- */

/* Where a newborn that has taken its descriptors tells: the first one after the program's own. */
NEWBORN static int tell_at(const struct start *start) { return start->io.channel < 0 ? CHANNEL : CHANNEL + 1; }

NEWBORN static long take_descriptors(const struct start *start) {
  int tell = tell_at(start);
  long error = CALL(dup3, start->io.in, 0, 0, 0);
  if (error >= 0) error = CALL(dup3, start->io.out, 1, 0, 0);
  if (error >= 0) error = CALL(dup3, start->io.err, 2, 0, 0);
  if (error >= 0) error = CALL(dup3, start->tell[1], tell, O_CLOEXEC, 0);
  if (error >= 0 && start->io.channel >= 0) error = CALL(dup3, start->io.channel, CHANNEL, 0, 0);
  if (error < 0) return error;
  if (CALL(close_range, tell + 1, ~0U, 0, 0) < 0)
    for (rlim_t fd = (rlim_t)tell + 1; fd < most[1].rlim_cur; fd++) CALL(close, fd, 0, 0, 0);
  return 0;
}

NEWBORN static long drop_privileges(const struct start *start) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
  long error = 0;
  if (own_priority) CALL(setpriority, PRIO_PROCESS, 0, 0, 0); /* a refusal leaves the same one */
  for (int i = 0; i < start->limits.count && error >= 0; i++)
    error = CALL(prlimit64, 0, start->limits.list[i].resource, &start->limits.list[i].value, 0);
  if (error >= 0) error = CALL(setgroups, 1, &start->group, 0, 0);
  if (error >= 0) error = CALL(setresgid, USER_ID, USER_ID, USER_ID, 0);
  if (error >= 0) error = CALL(setresuid, USER_ID, USER_ID, USER_ID, 0);
  if (error >= 0) error = CALL(prctl, PR_SET_DUMPABLE, 0, 0, 0);
  if (error >= 0) error = CALL(capset, &header, none, 0, 0);
  return error;
}

static char last_shell[] = "/bin/sh";

/* execvp with the run's own PATH. */
NEWBORN static long execute(struct start *start) {
  const char *file = start->arguments[0];
  size_t file_size = strlen(file) + 1;
  long error = -ENOENT;
  if (strchr(file, '/')) {
    error = CALL(execve, file, start->arguments, start->environment, 0);
    if (error != -ENOENT || !start->any_shell) return error;
    start->arguments[0] = last_shell;
    return CALL(execve, last_shell, start->arguments, start->environment, 0);
  }
  for (const char *at = start->search; *at;) {
    size_t length = strcspn(at, ":");
    if (length && length + 1 + file_size <= PATH_BYTES) {
      memcpy(start->path, at, length);
      start->path[length] = '/';
      memcpy(start->path + length + 1, file, file_size);
      long failed = CALL(execve, start->path, start->arguments, start->environment, 0);
      if (failed != -ENOENT && failed != -ENOTDIR) error = failed;
    }
    at += length + (at[length] == ':');
  }
  return error;
}

NEWBORN static long take_terminal(struct start *start) {
  long slave = pty_enter(&start->pty);
  int told = (int)-slave;
  if (slave < 0) CALL(write, start->tell[1], &told, sizeof told, 0);
  else start->io.in = start->io.out = start->io.err = (int)slave;
  return slave;
}

NEWBORN static void be_born(void *argument) {
  struct start *start = argument;
  uint64_t no_signals = 0;
  long error = CALL(setsid, 0, 0, 0, 0);
  if (error >= 0 && start->io.pty) error = take_terminal(start);
  if (error >= 0) error = take_descriptors(start);
  if (error < 0) CALL(exit_group, 127, 0, 0, 0);
  error = start->io.channel < 0 ? drop_privileges(start) : 0;
  if (error >= 0 && seccomp_of_newborns)
    error = CALL(prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, seccomp_of_newborns, 0);
  if (error >= 0 && start->folder) error = CALL(chdir, start->folder, 0, 0, 0);
  if (error >= 0) error = CALL(rt_sigprocmask, SIG_SETMASK, &no_signals, 0, sizeof no_signals);
  if (error >= 0) error = execute(start);
  int told = error < 0 ? (int)-error : EIO;
  CALL(write, tell_at(start), &told, sizeof told, 0);
  for (;;) CALL(exit_group, 127, 0, 0, 0);
}

/* ---- the guest ---- */

static const char *search_path(const struct spec *spec) {
  for (size_t i = 0; i < spec->environment_count; i++)
    if (!strncmp(spec->environment[i], "PATH=", 5)) return spec->environment[i] + 5;
  return "/usr/bin:/bin";
}

static void add_limit(struct limits *limits, int index, uint64_t soft, uint64_t hard) {
  if (!soft) return;
  if (hard > most[index].rlim_max) hard = most[index].rlim_max;
  if (soft > hard) soft = hard;
  limits->list[limits->count].resource = resources[index];
  limits->list[limits->count++].value = (struct rlimit){soft, hard};
}

static void fill_limits(struct limits *limits, const struct spec *spec) {
  limits->count = 0;
  uint64_t cpu_seconds = (spec->cpu_ms + 999) / 1000;
  add_limit(limits, 0, spec->processes, spec->processes);
  add_limit(limits, 1, spec->open_files, spec->open_files);
  add_limit(limits, 2, cpu_seconds, cpu_seconds + 1); /* SIGXCPU, then SIGKILL */
}

static bool fill(struct start *start, const struct spec *spec, gid_t group) {
  size_t arguments = spec->argument_count + 1, environment = spec->environment_count + 1;
  start->arguments = malloc((arguments + environment) * sizeof *start->arguments);
  if (!start->arguments) return false;
  start->environment = start->arguments + arguments;
  memcpy(start->arguments, spec->arguments, arguments * sizeof *start->arguments);
  memcpy(start->environment, spec->environment, environment * sizeof *start->arguments);
  start->group = group;
  start->folder = spec->folder ? spec->folder : "/";
  if (in_usual_folder && !strcmp(start->folder, usual_folder)) start->folder = NULL;
  start->search = search_path(spec);
  start->any_shell = spec->flags & FLAG_SHELL;
  fill_limits(&start->limits, spec);
  return true;
}

static void give_back(struct start *start) {
  free(start->arguments);
  free(start->spec);
  if (spare) free(start);
  else spare = start;
}

/* Takes the spec's bytes, which the newborn reads until it has become the program; NULL with errno, and they are not taken. */
struct start *start_program(const struct spec *spec, uint8_t *spec_bytes, gid_t group, struct start_io io,
                            pid_t *pid) {
  struct start *start = spare ? spare : malloc(sizeof *start);
  if (!start) return NULL;
  spare = NULL;
  start->spec = NULL;
  start->io = io;
  if (io.pty) start->pty = *io.pty;
  int error = 0;
  if (!fill(start, spec, group)) error = ENOMEM;
  else if (pipe2(start->tell, O_CLOEXEC | O_NONBLOCK) < 0) error = errno;
  if (!error) {
    oom_raise();
    long born = raw_clone((copy_memory ? 0 : CLONE_VM) | SIGCHLD, start->stack + STACK_BYTES, be_born, start);
    close(start->tell[1]);
    if (born > 0) {
      *pid = (pid_t)born;
      start->spec = spec_bytes;
      under_way++;
      return start;
    }
    close(start->tell[0]);
    error = (int)-born;
  }
  give_back(start);
  errno = error;
  return NULL;
}

/* -1 while the newborn is under way; then what stopped it, or 0 where it became the program or was killed, and the start
   is no more. Its memory is free only now: a newborn may be stopped for as long as user code likes. */
int start_outcome(struct start *start, bool reaped) {
  int error = 0;
  ssize_t size = read(start->tell[0], &error, sizeof error);
  if (size < 0 && !reaped) return -1;
  close(start->tell[0]);
  give_back(start);
  under_way--;
  return size == sizeof error ? error : 0;
}

bool starts_under_way(void) { return under_way > 0; }

/* Puts limits on a process that has started without: one that waited for its run, or with 0 this one. */
bool start_limit(pid_t pid, const struct spec *spec) {
  struct limits limits;
  fill_limits(&limits, spec);
  for (int i = 0; i < limits.count; i++)
    if (prlimit(pid, (unsigned)limits.list[i].resource, &limits.list[i].value, NULL) < 0) return false;
  return true;
}
