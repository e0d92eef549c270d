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

static NORETURN void die(const char *what) {
  fprintf(stderr, "caisson-helper: %s: %s\n", what, strerror(errno));
  exit(125);
}

static void lay_view(const char *home) {
  if (unshare(CLONE_NEWNS) != 0) die("no mount namespace");
  /* What the host unmounts later goes here too, and nothing of here is seen there. */
  if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0) die("the mounts cannot be kept apart");
  if (mkdir(VIEW, 0700) != 0 && errno != EEXIST) die(VIEW " cannot be made");
  if (mount("tmpfs", VIEW, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0711,size=64k") != 0) die("no tmpfs");
  if (mkdir(VIEW_HOME, 0711) != 0) die(VIEW_HOME " cannot be made");
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    char source[4096], target[256];
    if (snprintf(source, sizeof source, "%s/%s", home, parts[i].name) >= (int)sizeof source) errno = ENAMETOOLONG, die(home);
    snprintf(target, sizeof target, VIEW_HOME "/%s", parts[i].name);
    if (mkdir(target, 0711) != 0) die(target);
    if (!parts[i].bound) continue;
    if (mount(source, target, NULL, MS_BIND, NULL) != 0) die(source);
    if (mount(NULL, target, NULL, MS_BIND | MS_REMOUNT | parts[i].flags, NULL) != 0) die(target);
  }
  if (mount(NULL, VIEW, NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0) die("the view stays open");
}

static void drop_rights(uid_t uid, gid_t gid) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2] = {0};
  const struct rlimit no_core = {0, 0};
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) die("a capability stays");
  if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0) die("the user stays");
  if (syscall(SYS_capset, &header, none) != 0) die("capabilities stay");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) die("privileges could be gained");
  if (setrlimit(RLIMIT_CORE, &no_core) != 0 || chdir("/") != 0) die("cannot be set up");
  if (setuid(0) == 0) errno = EPERM, die("root can be had back");
  umask(077);
}

/* UID, GID, the data folder, then the program and its arguments as they are seen in the view. */
void become(char **arguments) {
  uid_t uid = (uid_t)strtoul(arguments[0], NULL, 10);
  gid_t gid = (gid_t)strtoul(arguments[1], NULL, 10);
  if (uid == 0 || gid == 0) errno = EINVAL, die("the daemon is never root");
  syscall(SYS_close_range, 3, ~0U, 0); /* Node opens everything to be closed by exec; a kernel without the call trusts that */
  lay_view(arguments[2]);
  drop_rights(uid, gid);
  execv(arguments[3], arguments + 3);
  die(arguments[3]);
}
