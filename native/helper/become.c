/*
 * Starts the daemon: shows it what of the data folder is its own, in a mount namespace of its own, and gives up every right
 * for good (SBX-19). The data folder, or one above it, may be closed to others: no mode is loosened for the daemon's sake.
 */
#include "helper.h"

#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VIEW "/run/caisson"
#define VIEW_HOME VIEW "/home"

/* In the order in which they are made. The engine's socket and the code are for reading. */
static const struct part {
  const char *name;
  unsigned long flags;
  bool bound;
} parts[] = {
    {"engine", 0, false},
    {"engine/sandboxes", MS_NOSUID | MS_NODEV | MS_NOEXEC, true},
    {"daemon", MS_NOSUID | MS_NODEV | MS_NOEXEC, true},
    {"run", 0, false},
    {"run/engine", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, true},
    {"app", MS_NOSUID | MS_NODEV | MS_RDONLY, true},
};

NORETURN void become_fail(const char *what) {
  fprintf(stderr, "caisson-helper: %s: %s\n", what, strerror(errno));
  exit(125);
}

/* An empty place of its own, before anything is shown in it. */
void become_apart(void) {
  if (unshare(CLONE_NEWNS) != 0) become_fail("no mount namespace");
  /* What the host unmounts later goes here too, and nothing of here is seen there. */
  if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0) become_fail("the mounts cannot be kept apart");
  if (mkdir(VIEW, 0700) != 0 && errno != EEXIST) become_fail(VIEW " cannot be made");
  if (mount("tmpfs", VIEW, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0711,size=64k") != 0) become_fail("no tmpfs");
  if (mkdir(VIEW_HOME, 0711) != 0) become_fail(VIEW_HOME " cannot be made");
}

void become_show(const char *home, const char *name, unsigned long flags, bool bound) {
  char source[4096], target[256];
  if (snprintf(source, sizeof source, "%s/%s", home, name) >= (int)sizeof source) errno = ENAMETOOLONG, become_fail(home);
  snprintf(target, sizeof target, VIEW_HOME "/%s", name);
  if (mkdir(target, 0711) != 0) become_fail(target);
  if (!bound) return;
  if (mount(source, target, NULL, MS_BIND, NULL) != 0) become_fail(source);
  if (mount(NULL, target, NULL, MS_BIND | MS_REMOUNT | flags, NULL) != 0) become_fail(target);
}

void become_closed(void) {
  if (mount(NULL, VIEW, NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
    become_fail("the view stays open");
}

void become_user(uid_t uid, gid_t gid, const gid_t *groups, size_t group_count) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2] = {0};
  const struct rlimit no_core = {0, 0};
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) become_fail("a capability stays");
  if (setgroups(group_count, groups) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0) become_fail("the user stays");
  if (syscall(SYS_capset, &header, none) != 0) become_fail("capabilities stay");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) become_fail("privileges could be gained");
  if (setrlimit(RLIMIT_CORE, &no_core) != 0 || chdir("/") != 0) become_fail("cannot be set up");
  if (setuid(0) == 0) errno = EPERM, become_fail("root can be had back");
}

/* The last of the daemon's descriptors (packages/server/src/supervision/daemon-sockets.ts). */
#define LAST_DESCRIPTOR 6

/* UID, GID, the data folder, then the program and its arguments as they are seen in the view. */
void become(char **arguments) {
  uid_t uid = (uid_t)strtoul(arguments[0], NULL, 10);
  gid_t gid = (gid_t)strtoul(arguments[1], NULL, 10);
  if (uid == 0 || gid == 0) errno = EINVAL, become_fail("the daemon is never root");
  syscall(SYS_close_range, LAST_DESCRIPTOR + 1, ~0U, 0); /* Node opens everything to be closed by exec; a kernel without the call trusts that */
  become_apart();
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) become_show(arguments[2], parts[i].name, parts[i].flags, parts[i].bound);
  become_closed();
  become_user(uid, gid, NULL, 0);
  umask(077);
  execv(arguments[3], arguments + 3);
  become_fail(arguments[3]);
}
