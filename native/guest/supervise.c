#define _GNU_SOURCE
#include "guest.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* One supervisor a run, under the guest's uid: it owns the run's process tree, its clock and its limits. Signals to it:
   SIGTERM ends the tree, SIGUSR1 ends it for memory, SIGRTMIN carries a signal for the process group. */

enum { TELL_START_MS = 2, KILL_MS = 5000, KILL_ROUND_MS = 2, CPU_LOOK_MS = 200, MEMORY_LOOK_MS = 50 };

struct run {
  const struct spec *spec;
  gid_t group;
  pid_t main_pid;
  int failure_fd, status_fd;
  bool main_done, subreaper, start_told;
  uint32_t count_before;
  uint64_t started_us, reaped_cpu_us, max_rss_bytes;
  struct exit_record exit;
};

static const char *variable(const struct spec *spec, const char *name) {
  size_t length = strlen(name);
  for (size_t i = 0; i < spec->environment_count; i++)
    if (!strncmp(spec->environment[i], name, length) && spec->environment[i][length] == '=')
      return spec->environment[i] + length + 1;
  return NULL;
}

/* execvp with the run's own PATH, without allocating. */
static void execute(const struct spec *spec) {
  const char *file = spec->arguments[0];
  char path[PATH_BYTES];
  if (strchr(file, '/')) {
    execve(file, spec->arguments, spec->environment);
    return;
  }
  const char *folders = variable(spec, "PATH");
  int error = ENOENT;
  for (const char *at = folders ? folders : "/usr/bin:/bin"; *at;) {
    size_t length = strcspn(at, ":");
    if (length && length + 1 + strlen(file) + 1 <= sizeof path) {
      memcpy(path, at, length);
      path[length] = '/';
      strcpy(path + length + 1, file);
      execve(path, spec->arguments, spec->environment);
      if (errno != ENOENT && errno != ENOTDIR) error = errno;
    }
    at += length + (at[length] == ':');
  }
  errno = error;
}

/* The child tells over a pipe what stopped it before exec; exec closes it. Not vfork: user code, whose uid the child
   already has, could stop it there and with it the supervisor and its clock. */
static pid_t start_main(const struct spec *spec, gid_t group, int in, int out, int err, int *failure_fd) {
  int failure[2];
  if (pipe2(failure, O_CLOEXEC | O_NONBLOCK) < 0) return -1;
  *failure_fd = failure[0];
  pid_t pid = fork();
  if (pid != 0) {
    close(failure[1]);
    return pid;
  }
  sigset_t none;
  sigemptyset(&none);
  /* The supervisor has no 0 and 1 of its own: the pipe may lie there, where the standard streams go. */
  int tell = 3, kept = fcntl(failure[1], F_DUPFD_CLOEXEC, 16);
  if (setsid() < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 || dup3(kept, tell, O_CLOEXEC) < 0)
    _exit(127);
  close_all_from(tell + 1);
  signal(SIGPIPE, SIG_DFL);
  if (privilege_drop(spec, group) == 0 && chdir(spec->folder ? spec->folder : "/") == 0) {
    sigprocmask(SIG_SETMASK, &none, NULL);
    execute(spec);
  }
  int error = errno ? errno : EIO;
  (void)!write(tell, &error, sizeof error);
  _exit(127);
}

/* What the child said, or 0 once it has become the program; -1 while it is neither. */
static int start_outcome(struct run *run) {
  int error;
  if (run->failure_fd < 0) return 0;
  ssize_t size = read(run->failure_fd, &error, sizeof error);
  if (size < 0) return -1;
  close(run->failure_fd);
  run->failure_fd = -1;
  return size == sizeof error ? error : 0;
}

static uint32_t process_count(void) {
  struct sysinfo info;
  return sysinfo(&info) == 0 ? info.procs : 0;
}

static void account(struct run *run, pid_t pid, int status, const struct rusage *use) {
  run->reaped_cpu_us += (uint64_t)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) * 1000000 +
                        (uint64_t)(use->ru_utime.tv_usec + use->ru_stime.tv_usec);
  uint64_t rss = (uint64_t)use->ru_maxrss * 1024;
  if (rss > run->max_rss_bytes) run->max_rss_bytes = rss;
  if (pid != run->main_pid) return;
  run->main_done = true;
  run->exit.status = status;
}

/* Returns false when no child is left. */
static bool reap_children(struct run *run) {
  for (;;) {
    int status;
    struct rusage use;
    pid_t pid = wait4(-1, &status, WNOHANG | WUNTRACED, &use);
    if (pid > 0 && WIFSTOPPED(status)) {
      if (pid == run->main_pid && start_outcome(run) < 0) kill(pid, SIGCONT); /* stopped before it was the program */
    } else if (pid > 0) account(run, pid, status, &use);
    else return pid == 0;
  }
}

static void wait_signal(const sigset_t *set, int ms, siginfo_t *info) {
  struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
  info->si_signo = 0;
  if (sigtimedwait(set, info, &t) < 0) info->si_signo = 0;
}

/* Rounds of scan and SIGKILL. With a subreaper no child left means that nothing is; without one (gVisor) a scan must
   find nothing, and a second one too where anything moved: what forks behind the first one's back is seen by the
   second. A tree that forks faster than it is killed for KILL_MS wins, and the caller ends the whole sandbox. */
static bool kill_tree(struct run *run) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  uint64_t deadline = now_ms() + KILL_MS;
  for (int clean = 0, needed = 1; clean < needed;) {
    bool children = reap_children(run);
    if (!children && run->subreaper) return true;
    if (tree_visit(run->group, SIGKILL, false).count == 0 && !children) {
      if (process_count() != run->count_before) needed = 2;
      clean++;
      continue;
    }
    clean = 0;
    needed = 2;
    if (now_ms() > deadline) return false;
    siginfo_t info;
    wait_signal(&child, KILL_ROUND_MS, &info);
  }
  return true;
}

/* The flag of the limit that the run has passed, or 0. */
static uint32_t passed_limit(const struct run *run) {
  const struct spec *spec = run->spec;
  uint64_t elapsed_ms = (now_us() - run->started_us) / 1000;
  if (spec->timeout_ms && elapsed_ms >= spec->timeout_ms) return EXIT_TIMED_OUT;
  bool look_cpu = spec->cpu_ms && elapsed_ms * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) >= spec->cpu_ms;
  if (!look_cpu && !spec->memory_bytes) return 0;
  struct tree_sum sum = tree_visit(run->group, 0, look_cpu);
  if (look_cpu && (sum.cpu_us + run->reaped_cpu_us) / 1000 >= spec->cpu_ms) return EXIT_CPU_LIMIT;
  if (spec->memory_bytes && sum.rss_bytes > spec->memory_bytes) return EXIT_MEMORY_LIMIT;
  return 0;
}

static int next_look_ms(const struct run *run) {
  const struct spec *spec = run->spec;
  uint64_t elapsed_ms = (now_us() - run->started_us) / 1000, wait = 3600000;
  if (spec->timeout_ms) wait = spec->timeout_ms > elapsed_ms ? spec->timeout_ms - elapsed_ms : 0;
  if (spec->cpu_ms) {
    uint64_t first = spec->cpu_ms / (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t look = first > elapsed_ms + CPU_LOOK_MS ? first - elapsed_ms : CPU_LOOK_MS;
    if (look < wait) wait = look;
  }
  if (spec->memory_bytes && wait > MEMORY_LOOK_MS) wait = MEMORY_LOOK_MS;
  return (int)wait;
}

static void tell(const struct run *run, enum record_kind kind) {
  struct status_record record = {.kind = kind, .pid = run->main_pid, .exit = run->exit};
  if (write(run->status_fd, &record, sizeof record) != sizeof record) _exit(71);
}

static void follow(struct run *run) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGRTMIN);
  uint64_t look_at = now_ms() + (uint64_t)next_look_ms(run);
  while (reap_children(run) && !run->main_done) {
    siginfo_t info;
    /* What ends at once is told of once: its start would only wake everybody up. */
    uint64_t now = now_ms(), until = run->start_told ? look_at : run->started_us / 1000 + TELL_START_MS + 1;
    wait_signal(&set, until > now ? (int)(until - now) : 0, &info);
    if (!run->start_told && now_us() - run->started_us >= TELL_START_MS * 1000) {
      tell(run, RECORD_STARTED);
      run->start_told = true;
    }
    if (info.si_signo == SIGTERM) run->exit.flags |= EXIT_KILLED;
    else if (info.si_signo == SIGUSR1) run->exit.flags |= EXIT_MEMORY_LIMIT;
    else if (info.si_signo == SIGRTMIN) kill(-run->main_pid, info.si_value.sival_int);
    /* Whatever woke us: signals that user code can cause must not keep the look away. */
    if (now_ms() >= look_at) {
      run->exit.flags |= passed_limit(run);
      look_at = now_ms() + (uint64_t)next_look_ms(run);
    }
    if (run->exit.flags) return;
  }
}

void supervise(const struct spec *spec, gid_t group, int in, int out, int err, int status_fd) {
  struct run run = {.spec = spec, .group = group, .failure_fd = -1, .status_fd = status_fd, .started_us = now_us()};
  run.subreaper = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
  run.count_before = process_count();
  prctl(PR_SET_NAME, "caisson-run");
  run.main_pid = start_main(spec, group, in, out, err, &run.failure_fd);
  if (run.main_pid < 0) {
    run.exit = (struct exit_record){.status = errno, .flags = EXIT_NOT_STARTED};
    tell(&run, RECORD_EXIT);
    _exit(0);
  }
  close(in);
  close(out);
  close(err);
  follow(&run);
  if (!kill_tree(&run)) _exit(72); /* no exit record: the guest reports the sandbox as lost */
  if (WIFSIGNALED(run.exit.status) && WTERMSIG(run.exit.status) == SIGXCPU) run.exit.flags |= EXIT_CPU_LIMIT;
  run.exit.cpu_us = run.reaped_cpu_us;
  run.exit.max_rss_bytes = run.max_rss_bytes;
  run.exit.wall_us = now_us() - run.started_us;
  int error = start_outcome(&run);
  if (error > 0) run.exit = (struct exit_record){.status = error, .flags = EXIT_NOT_STARTED};
  tell(&run, RECORD_EXIT);
  _exit(0);
}
