/* The words that every file of the helper speaks. A verb runs in a forked child: it ends by reply_ok() or fail(). */
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define NORETURN __attribute__((noreturn))
#define PRINTF(text, first) __attribute__((format(printf, text, first)))

enum {
  REQUEST_BYTES_MAX = 1 << 20,
  ARGUMENTS_MAX = 4096,
  REPLY_BYTES_MAX = 16 * 1024,
  JOBS_MAX = 256,
  READY_MAX = 64,
  ID_BYTES_MAX = 64,
  USER_ID = 1000,
  MEMORY_FD = 1000, /* where a runtime finds what it restores: its state, what is said about its pages, and those */
  MEMORY_PARTS = 3,
  SLICE_IDS = 264, /* of an ordinary user's sandbox: sandboxLimits.idsPerSlice */
};

/* request.c: NUL-separated strings: seq, verb, then key=value, where a key may be repeated. */
struct argument {
  const char *key;
  const char *value;
};
struct request {
  const char *seq;
  const char *verb;
  size_t count;
  struct argument arguments[ARGUMENTS_MAX];
};
bool request_parse(struct request *request, char *bytes, size_t length);
const char *request_find(const struct request *request, const char *key);
const char *request_text(const struct request *request, const char *key);
uint64_t request_number(const struct request *request, const char *key);
/* The sandbox's user as this process sees it. */
uid_t request_user(const struct request *request);

/* reply.c */
void reply_to(int fd, const char *seq);
int reply_descriptor(void);
void reply_step(const char *step);
void reply_format_error(char *line, size_t size, const char *seq, int error, const char *text);
NORETURN void reply_ok(const char *format, ...) PRINTF(1, 2);
/* Of a verb that goes on. */
void reply_begun(void);
/* Ends the verb with errno, the current step and the text. */
NORETURN void fail(const char *format, ...) PRINTF(1, 2);
NORETURN void fail_with(int error, const char *format, ...) PRINTF(2, 3);
/* Time is up; may be called by a signal's handler. */
NORETURN void fail_late(const char *text);
const char *error_name(int error);
const char *reply_timings(void);

/* text.c */
char *format_text(const char *format, ...) PRINTF(1, 2);
ssize_t read_whole(int fd, void *bytes, size_t size);
bool write_whole(int fd, const void *bytes, size_t size);
bool write_file(const char *path, const char *text);
int64_t clock_us(void);

/* process.c */
int open_pidfd(pid_t pid);
/* True when the process ended within the time; its wait status is stored. */
bool wait_for_child(pid_t pid, int64_t timeout_us, int *status);
/* Whether a process belongs to sandbox `id`: to its cgroup in any hierarchy, or, rootless, to the slice from `base` on. */
bool process_in_sandbox(pid_t pid, const char *id, uid_t base);
void die_with_parent(void);

/* serve.c */
int serve(void);

/* rootless.c */
bool rootless(void);
void rootless_activate(void);
/* newuidmap, newgidmap, then start and count of the uids and of the gids. */
NORETURN void rootless_enter(char **arguments);

/* become.c: each step ends this process where it fails. */
NORETURN void become(char **arguments);
NORETURN void become_fail(const char *what);
void become_apart(void);
void become_show(const char *home, const char *name, unsigned long flags, bool bound);
void become_closed(void);
void become_user(uid_t uid, gid_t gid, const gid_t *groups, size_t group_count);

/* become_host.c */
NORETURN void become_host(char **arguments);

/* remove.c: unlink_entries tells a folder among them that is not empty, or NULL. */
char *unlink_entries(int fd);
NORETURN void verb_remove(const struct request *request);

/* launch.c */
struct launch {
  const struct request *request;
  const char *folder;
  const char *stage;
  const char *rootfs;
  const char *volume;
  uid_t base;
  uid_t user;
  uid_t owner_uid;
  gid_t owner_gid;
  int to_guest;
  int from_guest;
  int input;
};
NORETURN void verb_launch(const struct request *request);

/* host_folder.c: part by part, through no link, since whoever owns a folder above could put one there at any moment; or -1. */
int open_host_folder(const char *path);

/* wire.c */
void wire_make(struct launch *launch);
void wire_restore(const struct launch *launch);
int wire_open_again(int fd, int how);

/* image.c */
void image_fill(const char *template_path, const char *image_path);
void image_mount(const char *image_path, const char *target, const char *scratch);
/* Read-only, and without a look at its journal: it is clean. The name of its device. */
const char *image_mount_layer(int image, const char *target, const char *scratch);
/* The node of a loop device. */
char *image_device(int number, const char *scratch);

/* layer_mount.c: zero, or an errno. */
int layers_prepare(const char *folder);
void layers_close(void);
void layers_leave(void);
NORETURN void verb_layer_mount(const struct request *request);
NORETURN void verb_layer_unmount(const struct request *request);
NORETURN void verb_layer_digest(const struct request *request);

/* layer_digest.c */
void layer_digest(int fd, char hex[65]);

/* layer_clone.c: mounts what the arguments of this key name, as prefix0, prefix1, ... of the stage; how many. */
size_t layers_attach(const struct launch *launch, const char *key, const char *prefix, bool is_root);
void layers_detach(const struct launch *launch, const char *prefix, size_t count);

/* apart.c: between begin and end shows files and folders of the host, read-only, by inodes of this launch's own; and a /dev
   of its own. */
void apart_begin(const struct launch *launch);
void apart_end(const struct launch *launch);
void apart_show(const struct launch *launch, const char *source, const char *target);
void apart_devices(const char *place);

/* overlay.c: names in the options are relative to the stage. */
void overlay_mount(const struct launch *launch, const char *target, unsigned long flags, const char *options);
void overlay_root(const struct launch *launch, const char *first, size_t count, const char *target);
void overlay_volume(const struct launch *launch);

/* layer_root.c */
void layer_root(const struct launch *launch);
bool layer_root_is_own(const char *path);

/* freeze.c */
NORETURN void verb_freeze(const struct request *request);

/* view.c */
void view_begin(struct launch *launch);
void view_rootfs(const struct launch *launch);
/* Shows the runtime's program at RUNTIME. */
#define RUNTIME_IN_STAGE "/caisson/runtime"
#define RUNTIME "/run" RUNTIME_IN_STAGE
void view_runtime(const struct launch *launch);
void view_finish(const struct launch *launch);
/* A tmpfs with the places of what is bound into a root that is not the helper's own. */
void view_places(const struct launch *launch, const char *target);
/* Never recursive; keeps what the source's own mount forbids. */
void view_bind(const char *source, const char *target, unsigned long flags);

/* volume.c */
void volume_prepare(const struct launch *launch);
/* Made, or there already and no link; opened. */
int volume_folder(int parent, const char *name, mode_t mode, uid_t owner);

/* input.c */
/* mount_point.c: also of a bind mount inside one file system. */
bool is_mount_point(int fd);
void input_copy(int source, int target, uid_t owner, uint64_t files_max);

/* runtime.c */
struct started {
  pid_t pid;
  pid_t gofer;
};
struct started runtime_run(const struct launch *launch);

/* memory.c: of the resident process: zero, or an errno. */
int memory_hold(const char *name);
int memory_forget(const char *name);
char *memory_places(const char *name);
void memory_hand_over(const char *name, int at);
NORETURN void verb_checkpoint(const struct request *request);

/* cgroup.c */
pid_t cgroup_fork(const struct request *request, int *born_in);
const char *cgroup_join(const struct request *request, int born_in);

/* sealed.c: the copy is made by the resident process, and executed by a child. */
void sealed_prepare(const char *path);
/* Returns where it cannot. */
void sealed_execute(char **argv, char **environment);

/* walk.c and mark.c: the regular files and symbolic links of a workspace. */
struct entry {
  uint64_t ino;
  int64_t ctime_ns;
  uint64_t size;
  uint32_t mode;
  uint32_t path_length;
  const char *path;
  int64_t born_ns; /* the two of a walk of all kinds only */
  int64_t mtime_ns;
};
struct entries {
  struct entry *list;
  size_t count;
  size_t capacity;
  size_t names; /* that the walk met, folders too */
};
struct walk_limits {
  uint64_t files;
  uint64_t depth;
  uint64_t path_bytes; /* of all paths together: links make entries that cost the sandbox nothing */
  bool all; /* folders and special files too */
};
/* False when a limit cut it short. */
bool walk(int root, const char *skip, struct walk_limits limits, struct entries *found);
/* Opens a regular file of the walked tree, one component at a time; -1 when it is no longer there or not readable. */
int walk_open(int root, const char *path);
void entries_add(struct entries *entries, const struct entry *entry);
void *arena(size_t size);
/* Frees what was taken before the last switch; what was taken since then stays until the next. */
void arena_switch(void);
void mark_write(int fd, const struct entries *entries);
void mark_read(int fd, struct entries *entries);
/* Ends a file that was written over from its start: nothing of what was longer stays. */
bool close_whole(FILE *out);

/* changes.c */
NORETURN void verb_changes(const struct request *request);
/* Whether it was found empty, and nothing was made in it since: there is no need for a walk, nor for a new mark. */
bool workspace_still_empty(const struct request *request);
int open_workspace(const struct request *request);
/* Makes the workspace the root and its user the own one; closes all descriptors but those kept and the reply's. */
void enter_workspace(const struct request *request, int workspace, int *kept, size_t count);
void keep_only(int *fds, size_t count);
void wait_for_next_tick(const struct entries *entries);

/* output.c */
NORETURN void verb_output(const struct request *request);

/* follow.c */
NORETURN void verb_follow(const struct request *request);

/* events.c */
void sort_entries(struct entries *entries);
/* Writes what happened between two sorted looks; false when it would be more than `most` events. */
bool write_events(int fd, const struct entries *before, const struct entries *after, uint64_t most);

/* compare.c */
struct change {
  char action;
  const struct entry *entry;
};
struct changes {
  struct change *list;
  size_t count;
};
void compare(const struct entries *before, const struct entries *after, bool whole, struct changes *changes);

/* sha256.c */
struct sha256 {
  uint32_t state[8];
  uint64_t length;
  size_t held;
  uint8_t block[64];
};
void sha256_init(struct sha256 *hash);
void sha256_update(struct sha256 *hash, const void *bytes, size_t size);
void sha256_final(struct sha256 *hash, uint8_t digest[32]);

/* locks.c: held by the resident process itself, so that they end with it. Zero, or an errno. */
int lock_claim(const char *folder);
int lock_take(const char *folder);
void lock_release(const char *folder);

/* watches.c: says once of each watched process that it has ended. */
void watch_add(const char *id, pid_t pid, uid_t base);
void watch_remove(const char *id);
void watch_reap(void);
void watch_ready(pid_t pid);
/* For those that have no descriptor. */
bool watch_needs_tick(void);
void watch_tick(void);

/* loop.c: descriptors of the resident process that can be read, in the order in which they are served. */
enum source { SOURCE_CHILDREN, SOURCE_JOB, SOURCE_WATCH, SOURCE_REQUEST, SOURCES };
struct ready {
  enum source source;
  unsigned number;
};
bool loop_open(void);
bool loop_add(int fd, enum source source, unsigned number);
void loop_close(int fd);
/* How many are ready, or -1. */
int loop_wait(struct ready *list, int timeout_ms);
