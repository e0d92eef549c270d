/* Walks a hostile tree by directory descriptors: no path of more than one component is ever given to the kernel. */
#include "helper.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_BYTES_MAX = 4096, ARENA_BYTES = 1 << 20 };

struct walker {
  dev_t device;
  const char *skip;
  struct walk_limits limits;
  struct entries *found;
  bool whole;
  uint64_t path_bytes;
  char path[PATH_BYTES_MAX];
};

struct block {
  struct block *next;
  _Alignas(16) char bytes[];
};
static struct block *blocks[2];
static int turn;
static char *free_bytes;
static size_t free_size;

void *arena(size_t size) {
  size = (size + 7) & ~(size_t)7;
  if (size > free_size) {
    free_size = size > ARENA_BYTES ? size : ARENA_BYTES;
    struct block *block = malloc(sizeof *block + free_size);
    if (block == NULL) fail_with(ENOMEM, "the workspace has too many files");
    block->next = blocks[turn];
    blocks[turn] = block;
    free_bytes = block->bytes;
  }
  void *taken = free_bytes;
  free_bytes += size;
  free_size -= size;
  return taken;
}

void arena_switch(void) {
  turn = 1 - turn;
  free_size = 0;
  while (blocks[turn] != NULL) {
    struct block *next = blocks[turn]->next;
    free(blocks[turn]);
    blocks[turn] = next;
  }
}

void entries_add(struct entries *entries, const struct entry *entry) {
  if (entries->count == entries->capacity) {
    entries->capacity = entries->capacity == 0 ? 1024 : entries->capacity * 2;
    entries->list = realloc(entries->list, entries->capacity * sizeof *entries->list);
    if (entries->list == NULL) fail_with(ENOMEM, "the workspace has too many files");
  }
  entries->list[entries->count++] = *entry;
}

static int64_t nanoseconds(struct statx_timestamp time) { return time.tv_sec * 1000000000LL + time.tv_nsec; }

/* With the time of birth, by which a file that was moved is told from one that took its inode. */
static void add_any(int parent, const char *name, struct entry *entry) {
  struct statx info;
  if (syscall(SYS_statx, parent, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &info) != 0) return;
  entry->ino = info.stx_ino;
  entry->ctime_ns = nanoseconds(info.stx_ctime);
  entry->mtime_ns = nanoseconds(info.stx_mtime);
  entry->born_ns = info.stx_mask & STATX_BTIME ? nanoseconds(info.stx_btime) : 0;
  entry->size = info.stx_size;
  entry->mode = info.stx_mode;
}

static void add_file(struct walker *walker, int parent, const char *name, size_t length, const struct stat *info) {
  walker->path_bytes += length + 1;
  if (walker->found->count >= walker->limits.files || walker->path_bytes > walker->limits.path_bytes) {
    walker->whole = false;
    return;
  }
  char *path = arena(length + 1);
  memcpy(path, walker->path, length + 1);
  struct entry entry = {
      .ino = info->st_ino,
      .ctime_ns = info->st_ctim.tv_sec * 1000000000LL + info->st_ctim.tv_nsec,
      .size = (uint64_t)info->st_size,
      .mode = info->st_mode,
      .path_length = (uint32_t)length,
      .path = path,
  };
  if (walker->limits.all) add_any(parent, name, &entry);
  entries_add(walker->found, &entry);
}

static void walk_folder(struct walker *walker, int fd, size_t length, unsigned depth);

/* A name that is gone, became a link or may not be read is left out: the next look will see what it is then. After any other
   error nothing is known of it. */
static void leave_out(struct walker *walker) {
  if (errno != ENOENT && errno != EACCES && errno != ELOOP && errno != ENOTDIR) walker->whole = false;
}

static void walk_subfolder(struct walker *walker, int parent, const char *name, size_t length, unsigned depth) {
  struct stat info;
  if (depth >= walker->limits.depth) {
    walker->whole = false;
    return;
  }
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return leave_out(walker);
  if (fstat(fd, &info) == 0 && info.st_dev == walker->device)
    walk_folder(walker, fd, length, depth + 1);
  else
    close(fd);
}

static void walk_entry(struct walker *walker, int parent, const struct dirent *entry, size_t length, unsigned depth) {
  struct stat info;
  size_t name_length = strlen(entry->d_name);
  if (length + name_length + 2 > PATH_BYTES_MAX) {
    walker->whole = false;
    return;
  }
  if (length > 0) walker->path[length++] = '/';
  memcpy(walker->path + length, entry->d_name, name_length + 1);
  length += name_length;
  if (walker->skip != NULL && strcmp(walker->path, walker->skip) == 0) return;
  walker->found->names++;
  if (entry->d_type == DT_DIR && !walker->limits.all)
    return walk_subfolder(walker, parent, entry->d_name, length, depth);
  if (fstatat(parent, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) return leave_out(walker);
  bool wanted = S_ISREG(info.st_mode) || S_ISLNK(info.st_mode) || walker->limits.all;
  if (wanted && info.st_dev == walker->device) add_file(walker, parent, entry->d_name, length, &info);
  if (S_ISDIR(info.st_mode)) walk_subfolder(walker, parent, entry->d_name, length, depth);
}

/* Takes `fd` over and closes it. */
static void walk_folder(struct walker *walker, int fd, size_t length, unsigned depth) {
  DIR *folder = fdopendir(fd);
  if (folder == NULL) {
    close(fd);
    walker->whole = false;
    return;
  }
  const struct dirent *entry;
  while (errno = 0, (entry = readdir(folder)) != NULL && walker->found->count < walker->limits.files &&
                        walker->path_bytes <= walker->limits.path_bytes) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    walk_entry(walker, fd, entry, length, depth);
  }
  if (entry != NULL || errno != 0) walker->whole = false;
  closedir(folder);
}

bool walk(int root, const char *skip, struct walk_limits limits, struct entries *found) {
  static struct walker walker;
  struct stat info;
  int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &info) != 0) fail("cannot open the workspace");
  walker = (struct walker){.device = info.st_dev, .skip = skip, .limits = limits, .found = found, .whole = true};
  walk_folder(&walker, fd, 0, 0);
  return walker.whole;
}

static int open_folder(int root, const char *path, size_t length) {
  int folder = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (const char *end = path + length; path < end && folder >= 0;) {
    char name[256];
    size_t part = strcspn(path, "/");
    if (part == 0 || part >= sizeof name) {
      close(folder);
      return -1;
    }
    memcpy(name, path, part);
    name[part] = '\0';
    int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    close(folder);
    folder = inner;
    path += part + 1;
  }
  return folder;
}

/* Files come sorted by path: the folder of the last one is kept open for the next. */
int walk_open(int root, const char *path) {
  static const char *last_path = "";
  static size_t last_length;
  static int folder = -1;
  struct stat info;
  const char *slash = strrchr(path, '/');
  size_t length = slash == NULL ? 0 : (size_t)(slash - path);
  if (folder < 0 || length != last_length || memcmp(path, last_path, length) != 0) {
    if (folder >= 0) close(folder);
    folder = open_folder(root, path, length);
    last_path = path;
    last_length = length;
  }
  if (folder < 0) return -1;
  const char *name = slash == NULL ? path : slash + 1;
  int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return -1;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) return fd;
  close(fd);
  return -1;
}
