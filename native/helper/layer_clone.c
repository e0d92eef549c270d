/*
 * Gives a sandbox its own view of a layer: a clone of its mount, in which what the layer's range of ids wrote belongs to
 * the sandbox's. The files and their pages stay the same ones.
 */
#include "helper.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
#ifndef SYS_move_mount
#define SYS_move_mount 429
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

enum { TREE_CLONE = 1, MOVE_FROM_EMPTY = 4, ATTR_IDMAP = 0x00100000, RANGE = 65536 };
/* As in linux/mount.h, which does not go together with musl's. */
struct mount_attr_words {
  uint64_t attr_set;
  uint64_t attr_clr;
  uint64_t propagation;
  uint64_t userns_fd;
};

/* A namespace is made for its map alone: whoever made it may end at once. */
static int open_map(const char *map) {
  int ready[2];
  char byte = 0;
  if (pipe2(ready, O_CLOEXEC) != 0) fail("cannot make a pipe");
  pid_t pid = fork();
  if (pid < 0) fail("cannot fork");
  if (pid == 0) {
    die_with_parent();
    if (unshare(CLONE_NEWUSER) != 0 || !write_whole(ready[1], &byte, 1)) _exit(1);
    for (;;) pause();
  }
  close(ready[1]);
  int fd = -1;
  if (read_whole(ready[0], &byte, 1) == 1 && write_file(format_text("/proc/%d/uid_map", (int)pid), map) &&
      write_file(format_text("/proc/%d/gid_map", (int)pid), map))
    fd = open(format_text("/proc/%d/ns/user", (int)pid), O_RDONLY | O_CLOEXEC);
  int error = errno;
  close(ready[0]);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  errno = error;
  return fd;
}

/* False where this kernel, or the file system, has no such mounts. */
static bool map_ids(int tree, const char *map) {
  struct mount_attr_words attributes = {.attr_set = ATTR_IDMAP};
  int namespace = open_map(map);
  if (namespace < 0) return false;
  attributes.userns_fd = (uint64_t)namespace;
  bool done = syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0;
  close(namespace);
  return done;
}

static const char *read_layer(const char *value, uid_t *from) {
  char *rest;
  unsigned long number = strtoul(value, &rest, 10);
  if (*rest != ':' || rest[1] != '/') fail_with(EINVAL, "%s is not a layer", value);
  *from = (uid_t)number;
  return rest + 1;
}

/* Of a root, what its builder's user made is root's; nothing of the builder's is the sandbox user's. */
static char *map_of(uid_t from, uid_t base, bool is_root) {
  if (is_root) return format_text("%u %u 1\n", from + USER_ID, base);
  return format_text("%u %u %u\n", from, base, RANGE);
}

size_t layers_attach(const struct launch *launch, const char *key, const char *prefix, bool is_root) {
  size_t count = 0;
  for (size_t i = 0; i < launch->request->count; i++) {
    const struct argument *argument = &launch->request->arguments[i];
    uid_t from;
    if (strcmp(argument->key, key) != 0) continue;
    const char *source = read_layer(argument->value, &from);
    char *place = format_text("%s/%s%zu", launch->stage, prefix, count++);
    if (mkdir(place, 0755) != 0) fail("cannot make a place for a layer");
    if (rootless()) {
      view_bind(source, place, MS_RDONLY | MS_NOSUID | MS_NODEV);
      continue;
    }
    int tree = (int)syscall(SYS_open_tree, AT_FDCWD, source, TREE_CLONE | O_CLOEXEC);
    if (tree < 0) fail("cannot open a layer");
    bool mapped = (!is_root && from == launch->base) || map_ids(tree, map_of(from, launch->base, is_root));
    if (!mapped && !is_root) fail_with(EOPNOTSUPP, "this kernel cannot give a layer to other ids");
    if (syscall(SYS_move_mount, tree, "", AT_FDCWD, place, MOVE_FROM_EMPTY) != 0) fail("cannot mount a layer");
    close(tree);
    free(place);
  }
  return count;
}

/* What was made of them stays; by their own names they are gone. */
void layers_detach(const struct launch *launch, const char *prefix, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char *place = format_text("%s/%s%zu", launch->stage, prefix, i);
    if (umount2(place, MNT_DETACH) != 0 || rmdir(place) != 0) fail("cannot leave a layer");
    free(place);
  }
}
