/* Mounts and namespaces. */
#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_clone3
#define SYS_clone3 435
#endif
enum { CALL_OPEN_TREE = 428, CALL_MOVE_MOUNT = 429, CALL_FSOPEN = 430, CALL_FSCONFIG = 431, CALL_FSMOUNT = 432, CALL_MOUNT_SETATTR = 442 };

/* mount TYPE...: each where it can be, and away again. */
static int mount_types(int count, char **words) {
  mkdir("mounted", 0755);
  for (int i = 1; i < count; i++) {
    if (mount("caisson-probe", "mounted", words[i], 0, NULL) < 0) {
      missed("mounting %s", words[i]);
      continue;
    }
    gained("a mount of %s", words[i]);
    umount2("mounted", MNT_DETACH);
  }
  return 0;
}

/* remount PATH...: writable where it was read-only. */
static int remount(int count, char **words) {
  for (int i = 1; i < count; i++)
    if (mount(NULL, words[i], NULL, MS_REMOUNT | MS_BIND, NULL) == 0) gained("%s remounted", words[i]);
    else missed("remounting %s", words[i]);
  return 0;
}

/* unmount PATH...: what hides the host behind a mask. */
static int unmount(int count, char **words) {
  for (int i = 1; i < count; i++)
    if (umount2(words[i], MNT_DETACH) == 0) gained("%s unmounted", words[i]);
    else missed("unmounting %s", words[i]);
  return 0;
}

/* The calls that came with Linux 5.2, which older filters do not name. */
static int mount_newly(int count, char **words) {
  (void)count, (void)words;
  int context = (int)syscall(CALL_FSOPEN, "tmpfs", 0);
  if (context < 0) missed("fsopen");
  else gained("a file system context");
  if (context >= 0) syscall(CALL_FSCONFIG, context, 6 /* CREATE */, NULL, NULL, 0);
  int made = context < 0 ? -1 : (int)syscall(CALL_FSMOUNT, context, 0, 0);
  if (made >= 0) gained("a mount made by fsmount");
  int tree = (int)syscall(CALL_OPEN_TREE, AT_FDCWD, "/", 1 /* CLONE */);
  if (tree < 0) missed("open_tree");
  else gained("a clone of the root's mount");
  mkdir("moved", 0755);
  if (syscall(CALL_MOVE_MOUNT, made >= 0 ? made : tree, "", AT_FDCWD, "moved", 4) == 0) gained("a moved mount"), umount2("moved", MNT_DETACH);
  else missed("move_mount");
  uint64_t attributes[4] = {0, 1 /* read-only */, 0, 0};
  if (syscall(CALL_MOUNT_SETATTR, AT_FDCWD, "/usr", 0, attributes, sizeof attributes) == 0) gained("attributes of a mount");
  else missed("mount_setattr");
  return 0;
}

static bool map_root(uid_t user, gid_t group) {
  char text[64];
  write_text("/proc/self/setgroups", "deny");
  snprintf(text, sizeof text, "0 %u 1", group);
  write_text("/proc/self/gid_map", text);
  snprintf(text, sizeof text, "0 %u 1", user);
  return write_text("/proc/self/uid_map", text);
}

static const int new_namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWUTS;

static int in_own_namespace(const char *how, uid_t user, gid_t group, int count, char **words) {
  gained("a user namespace by %s", how);
  if (!map_root(user, group)) missed("mapping root");
  return run_in_child(count, words);
}

/* in-user-namespace COMMAND...: the command where this process would be root of a namespace of its own, reached by
   unshare, by clone and by clone3; without any, as it is. */
static int in_user_namespace(int count, char **words) {
  uid_t user = getuid();
  gid_t group = getgid();
  if (unshare(new_namespaces) == 0) return in_own_namespace("unshare", user, group, count - 1, words + 1);
  missed("unshare");
  for (int way = 0; way < 2; way++) {
    uint64_t arguments[11] = {(uint64_t)new_namespaces, 0, 0, 0, SIGCHLD};
    long pid = way ? syscall(SYS_clone3, arguments, 64) : syscall(SYS_clone, new_namespaces | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0) _exit(in_own_namespace(way ? "clone3" : "clone", user, group, count - 1, words + 1));
    if (pid > 0) return waitpid((pid_t)pid, NULL, 0) < 0;
    missed(way ? "clone3" : "clone");
  }
  return dispatch(count - 1, words + 1);
}

/* release-agent PROGRAM DONE: a cgroup v1 hierarchy of its own, whose agent the kernel starts outside of every sandbox when
   the last process of a group has left. */
static int release_agent(int count, char **words) {
  if (count < 3) return 64;
  mkdir("groups", 0755);
  if (mount("none", "groups", "cgroup", 0, "none,name=caisson-probe") < 0) {
    missed("mounting a cgroup hierarchy");
    if (mount("none", "groups", "cgroup", 0, "rdma") < 0) return missed("mounting the rdma hierarchy"), 0;
  }
  gained("a cgroup hierarchy");
  mkdir("groups/child", 0755);
  if (!write_text("groups/release_agent", words[1])) missed("naming the agent");
  if (!write_text("groups/child/notify_on_release", "1")) missed("asking for it");
  pid_t pid = fork();
  if (pid == 0) _exit(!write_text("groups/child/cgroup.procs", "0"));
  if (pid > 0) waitpid(pid, NULL, 0);
  /* The kernel starts the agent when the group is empty; the agent makes DONE. */
  for (long end = milliseconds() + 5000; milliseconds() < end && access(words[2], F_OK) < 0;) usleep(1000);
  rmdir("groups/child");
  umount2("groups", 0);
  return 0;
}

/* write-any-release-agent TEXT: of the hierarchies that are mounted already. */
static int write_any_release_agent(int count, char **words) {
  static const char *const names[] = {"cpu", "cpu,cpuacct", "memory", "pids", "freezer", "devices", "systemd", "rdma", "misc", "blkio"};
  char path[128];
  if (count < 2) return 64;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, "/sys/fs/cgroup/%s/release_agent", names[i]);
    if (write_text(path, words[1])) gained("%s", path);
    else missed("writing %s", path);
  }
  return 0;
}

const struct command mount_commands[] = {
    {"mount", mount_types},
    {"remount", remount},
    {"unmount", unmount},
    {"mount-newly", mount_newly},
    {"in-user-namespace", in_user_namespace},
    {"release-agent", release_agent},
    {"write-any-release-agent", write_any_release_agent},
    {NULL, NULL},
};
