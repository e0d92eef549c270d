/*
 * Copies a host folder into a new volume: regular files, folders, and relative links that stay inside. A socket in a
 * read-only bind would be a door to the host (hazard 18), so anything else is refused by name.
 */
#include "helper.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 64 };

struct copy {
  dev_t device;
  uid_t owner;
  uint64_t left;
};

static void copy_folder(struct copy *copy, int source, int target, const char *path, unsigned depth);

static void copy_bytes(int from, int to, const char *path) {
  static char bytes[1 << 16];
  for (;;) {
    ssize_t done = copy_file_range(from, NULL, to, NULL, 1 << 30, 0);
    if (done == 0) return;
    if (done > 0) continue;
    if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) fail("cannot copy %s", path);
    break;
  }
  for (;;) {
    ssize_t got = read(from, bytes, sizeof bytes);
    if (got == 0) return;
    if (got < 0 || !write_whole(to, bytes, (size_t)got)) fail("cannot copy %s", path);
  }
}

static void check_opened(const struct copy *copy, int fd, const char *path, mode_t type, struct stat *info) {
  if (fstat(fd, info) != 0) fail("cannot read %s", path);
  if ((info->st_mode & S_IFMT) != type) fail_with(EAGAIN, "%s changed while it was copied", path);
  if (info->st_dev != copy->device || is_mount_point(fd)) fail_with(EXDEV, "%s is a mount point", path);
}

static void copy_file(struct copy *copy, int source, int target, const char *name, const char *path) {
  struct stat info;
  int from = openat(source, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (from < 0) fail("cannot open %s", path);
  check_opened(copy, from, path, S_IFREG, &info);
  int to = openat(target, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (to < 0) fail("cannot make %s", path);
  copy_bytes(from, to, path);
  if (fchown(to, copy->owner, copy->owner) != 0 || fchmod(to, (info.st_mode & 0111) != 0 ? 0555 : 0444) != 0)
    fail("cannot give %s to its owner", path);
  close(to);
  close(from);
}

/* By its text alone: what a link inside reaches is the sandbox's own. */
static bool stays_inside(const char *link, unsigned depth) {
  long level = depth;
  if (*link == '/' || *link == '\0') return false;
  for (const char *at = link; *at != '\0';) {
    size_t length = strcspn(at, "/");
    if (length == 2 && at[0] == '.' && at[1] == '.') level--;
    else if (length > 0 && !(length == 1 && at[0] == '.')) level++;
    if (level < 0) return false;
    at += length;
    at += strspn(at, "/");
  }
  return true;
}

static void copy_link(const struct copy *copy, int source, int target, const char *name, const char *path,
                      unsigned depth) {
  char link[PATH_MAX];
  ssize_t length = readlinkat(source, name, link, sizeof link - 1);
  if (length < 0) fail("cannot read the link %s", path);
  link[length] = '\0';
  if (!stays_inside(link, depth)) fail_with(EXDEV, "the link %s leaves the folder", path);
  if (symlinkat(link, target, name) != 0 || fchownat(target, name, copy->owner, copy->owner, AT_SYMLINK_NOFOLLOW) != 0)
    fail("cannot make the link %s", path);
}

static void copy_subfolder(struct copy *copy, int source, int target, const char *name, const char *path,
                           unsigned depth) {
  struct stat info;
  if (depth >= DEPTH_MAX) fail_with(ELOOP, "%s lies too deep", path);
  int from = openat(source, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (from < 0) fail("cannot open %s", path);
  check_opened(copy, from, path, S_IFDIR, &info);
  if (mkdirat(target, name, 0755) != 0) fail("cannot make %s", path);
  int to = openat(target, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (to < 0 || fchown(to, copy->owner, copy->owner) != 0) fail("cannot give %s to its owner", path);
  copy_folder(copy, from, to, path, depth + 1);
  close(to);
}

static void copy_entry(struct copy *copy, int source, int target, const char *name, const char *path, unsigned depth) {
  struct stat info;
  if (copy->left-- == 0) fail_with(E2BIG, "the input folder holds too many files");
  if (fstatat(source, name, &info, AT_SYMLINK_NOFOLLOW) != 0) fail("cannot read %s", path);
  if (S_ISREG(info.st_mode)) copy_file(copy, source, target, name, path);
  else if (S_ISDIR(info.st_mode)) copy_subfolder(copy, source, target, name, path, depth);
  else if (S_ISLNK(info.st_mode)) copy_link(copy, source, target, name, path, depth);
  else fail_with(EINVAL, "%s is neither a file, a folder nor a link", path);
}

/* Takes `source` over and closes it. */
static void copy_folder(struct copy *copy, int source, int target, const char *path, unsigned depth) {
  DIR *folder = fdopendir(source);
  if (folder == NULL) fail("cannot list %s", path);
  for (;;) {
    errno = 0;
    struct dirent *entry = readdir(folder);
    if (entry == NULL) break;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char *inner = *path == '\0' ? format_text("%s", entry->d_name) : format_text("%s/%s", path, entry->d_name);
    copy_entry(copy, dirfd(folder), target, entry->d_name, inner, depth);
    free(inner);
  }
  if (errno != 0) fail("cannot list %s", path);
  closedir(folder);
}

void input_copy(int source, int target, uid_t owner, uint64_t files_max) {
  struct stat info;
  if (fstat(source, &info) != 0) fail("cannot read the input folder");
  struct copy copy = {.device = info.st_dev, .owner = owner, .left = files_max};
  copy_folder(&copy, source, target, "", 0);
}
