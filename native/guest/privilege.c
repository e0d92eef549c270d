#define _GNU_SOURCE
#include "guest.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum {
  INHERITED = 1 << CAP_SETUID | 1 << CAP_SETGID,
  NAMING = 1 << CAP_SYS_ADMIN,
  NEEDED = INHERITED | 1 << CAP_KILL | 1 << CAP_NET_BIND_SERVICE | NAMING,
};

static struct __user_cap_data_struct usual[2];

static bool set_capabilities(const struct __user_cap_data_struct *sets) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  return syscall(SYS_capset, &header, sets) == 0;
}

static void keep(uint32_t permitted) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  if (syscall(SYS_capget, &header, usual) < 0) die("capget");
  usual[0].permitted &= permitted;
  usual[0].effective = usual[0].permitted & ~(uint32_t)NAMING;
  usual[0].inheritable = usual[0].permitted & INHERITED;
  usual[1] = (struct __user_cap_data_struct){0, 0, 0};
  if (!set_capabilities(usual)) die("capset");
}

/* PID 1 keeps what it takes to start user code as another user, to end it, and to listen on ports below 1024; and, where memory
   is saved (gVisor), to give a copy its own host name, which it takes up for that one call. What it had beyond, to prepare lo
   and for this, goes. An interpreter that waits for runs inherits what it takes to become the user
   (warm.c). No user code can ever gain any of it (SBX-03). */
void privilege_prepare(void) {
  keep(NEEDED | 1 << CAP_SETPCAP); /* nothing is inherited that is not in the bounding set before it goes */
  for (int capability = 0; capability < 64; capability++)
    if (prctl(PR_CAPBSET_READ, capability) == 1 && prctl(PR_CAPBSET_DROP, capability) < 0) die("capability bound");
  keep(NEEDED);
  if (prctl(PR_SET_DUMPABLE, 0) < 0) die("dumpable"); /* /proc/1 belongs to root alone */
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) die("no_new_privs");
}

/* Not the C library's, which holds signals back meanwhile for the sake of threads: three calls more. */
static bool set_effective(uid_t user) { return syscall(SYS_setresuid, (uid_t)-1, user, (uid_t)-1) == 0; }

/* For what belongs to whoever makes it, and is to be the user's. The real uid stays: user code can signal this process at no
   time. */
bool privilege_borrow_user(void) { return set_effective(USER_ID); }

/* Leaves errno as it is: it may come between a call and a look at why that failed. */
void privilege_return_user(void) {
  int error = errno;
  if (!set_effective(0)) die("setresuid");
  prctl(PR_SET_DUMPABLE, 0); /* a change of ids may have set it again, and takes up all that is permitted */
  if (privilege_may_rename() && !set_capabilities(usual)) die("capset");
  errno = error;
}

bool privilege_may_rename(void) { return usual[0].permitted & NAMING; }

bool privilege_rename(const char *host) {
  struct __user_cap_data_struct naming[2] = {usual[0], usual[1]};
  naming[0].effective |= NAMING;
  if (!privilege_may_rename() || !set_capabilities(naming)) return false;
  bool done = sethostname(host, strlen(host)) == 0;
  if (!set_capabilities(usual)) die("capset");
  return done;
}

static int drop(const struct spec *spec, uid_t user) {
  static const struct __user_cap_data_struct none[2];
  if (!oom_go_first()) return -1;
  setpriority(PRIO_PROCESS, 0, 0); /* the guest may run at a better priority; a refusal leaves the same one */
  if (!start_limit(0, spec)) return -1;
  if (syscall(SYS_setgroups, 0, NULL) < 0) return -1;
  if (syscall(SYS_setresgid, USER_ID, USER_ID, USER_ID) < 0) return -1;
  if (syscall(SYS_setresuid, user, user, user) < 0) return -1;
  if (!set_capabilities(none)) return -1;
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* Turns a worker, which was forked, into user code's. Returns -1 with errno; the caller must then not go on. */
int privilege_drop(const struct spec *spec) { return drop(spec, USER_ID); }

/* As above, but what it makes is root's: user code's group can be let read it, and no more. */
int privilege_drop_but_root(const struct spec *spec) { return drop(spec, 0); }

void close_all_from(int first) {
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
  long last = sysconf(_SC_OPEN_MAX);
  for (int fd = first; fd < last; fd++) close(fd);
}
