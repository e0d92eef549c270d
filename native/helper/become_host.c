/*
 * Starts the host's process: a user of the machine as others are, except that it can gain no right and sees nothing of
 * Caisson's data folder. Where that user is the daemon's, it is in a pid namespace too: it can neither see the daemon, nor
 * signal it, nor read its memory (S57).
 */
#include "helper.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_GROUPS 64

struct account {
  uid_t uid;
  gid_t gid;
  gid_t groups[MOST_GROUPS];
  size_t group_count;
};

static void read_groups(struct account *account, char *list) {
  for (char *word = strtok(list, ","); word != NULL; word = strtok(NULL, ",")) {
    if (account->group_count == MOST_GROUPS) errno = E2BIG, become_fail("too many groups");
    gid_t group = (gid_t)strtoul(word, NULL, 10);
    if (group == 0) errno = EINVAL, become_fail("root's group");
    account->groups[account->group_count++] = group;
  }
}

static void become_account(const struct account *account) {
  become_user(account->uid, account->gid, account->groups, account->group_count);
  umask(022);
}

/* Hides the data folder, wherever it lies; shows the code that is run, which lies in it. */
static void hide(const char *home) {
  become_apart();
  become_show(home, "app", MS_NOSUID | MS_NODEV | MS_RDONLY, true);
  become_closed();
  if (mount("tmpfs", home, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "mode=0,size=4k") != 0) become_fail(home);
}

/* Waits for one child, and for all orphans meanwhile; ends as it did. */
static NORETURN void follow(pid_t child) {
  int status;
  for (;;) {
    pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) _exit(125);
    if (ended == child) _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
}

static pid_t fork_or_fail(void) {
  pid_t child = fork();
  if (child < 0) become_fail("no process");
  return child;
}

/*
 * The parent stays outside and waits; the first process inside reaps, and takes all others with it when it ends. Each has
 * given up its rights, and dies with the one before it. None but the last has anything open that it could be reached by.
 */
static void enter_pid_namespace(const struct account *account) {
  if (unshare(CLONE_NEWPID) != 0) become_fail("no pid namespace");
  pid_t first = fork_or_fail();
  if (first > 0) {
    become_account(account);
    die_with_parent();
    syscall(SYS_close_range, 0, ~0U, 0);
    follow(first);
  }
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0) become_fail("no /proc");
  pid_t program = fork_or_fail();
  if (program == 0) return;
  become_account(account);
  die_with_parent();
  syscall(SYS_close_range, 0, ~0U, 0);
  follow(program);
}

/* UID, GID, other groups with commas, `apart` or `among`, the data folder, then the program and its arguments as they are seen. */
void become_host(char **arguments) {
  struct account account = {.uid = (uid_t)strtoul(arguments[0], NULL, 10), .gid = (gid_t)strtoul(arguments[1], NULL, 10)};
  if (account.uid == 0 || account.gid == 0) errno = EINVAL, become_fail("the host's user is never root");
  read_groups(&account, arguments[2]);
  syscall(SYS_close_range, 4, ~0U, 0); /* 3 is the way to the daemon */
  hide(arguments[4]);
  if (strcmp(arguments[3], "apart") == 0) enter_pid_namespace(&account);
  become_account(&account);
  execv(arguments[5], arguments + 5);
  become_fail(arguments[5]);
}
