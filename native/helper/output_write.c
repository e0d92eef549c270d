/*
 * Writes what the reader tells into the folder that is this process's root, with the rights of that folder's owner: whatever
 * others put there meanwhile, and whatever the reader says, leads nowhere else (hazard 19).
 */
#include "output.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct writer {
  int folders[OUTPUT_DEPTH_MAX + 1]; /* -1 for one that could not be had: what is in it is left out */
  unsigned depth;
  int file;
  bool in_file;
  char name[OUTPUT_NAME_BYTES + 1];
  uint64_t reserve_bytes;
  struct output_counts counts;
};

/* What is the host's fault ends the copy; what somebody put in the way is left out. */
static void check_room(int error) {
  if (error == ENOSPC || error == EDQUOT || error == EROFS || error == EIO || error == EACCES || error == EPERM || error == EMFILE)
    fail_with(error, "cannot write to the output folder");
}

static int enter_folder(int parent, const char *name) {
  if (mkdirat(parent, name, 0755) != 0 && errno != EEXIST) check_room(errno);
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || !is_mount_point(fd)) return fd;
  close(fd);
  return -1;
}

static void begin_folder(struct writer *writer) {
  int parent = writer->folders[writer->depth];
  if (writer->depth == OUTPUT_DEPTH_MAX) fail_with(EPROTO, "the output lies too deep");
  int fd = parent < 0 ? -1 : enter_folder(parent, writer->name);
  if (fd < 0) writer->counts.skipped++;
  writer->folders[++writer->depth] = fd;
}

static void check_reserve(const struct writer *writer, int fd) {
  struct statvfs disk;
  if (fstatvfs(fd, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize < writer->reserve_bytes)
    fail_with(ENOSPC, "cannot write to the output folder");
}

static void begin_file(struct writer *writer) {
  int parent = writer->folders[writer->depth];
  writer->in_file = true;
  writer->file = -1;
  if (parent < 0) return;
  unlinkat(parent, OUTPUT_PART, 0); /* of a copy that was broken off */
  writer->file = openat(parent, OUTPUT_PART, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (writer->file < 0) check_room(errno);
}

static void add_bytes(struct writer *writer, const char *bytes, size_t length) {
  if (!writer->in_file) fail_with(EPROTO, "the output is not in order");
  if (writer->file < 0) return;
  check_reserve(writer, writer->file);
  if (!write_whole(writer->file, bytes, length)) fail("cannot write to the output folder");
  writer->counts.bytes += length;
}

static void end_file(struct writer *writer, bool whole) {
  int parent = writer->folders[writer->depth];
  writer->in_file = false;
  bool done = false;
  if (writer->file >= 0) {
    done = whole && fchmod(writer->file, 0644) == 0 && renameat(parent, OUTPUT_PART, parent, writer->name) == 0;
    close(writer->file);
    if (!done) unlinkat(parent, OUTPUT_PART, 0);
  }
  if (done) writer->counts.files++;
  else writer->counts.skipped++;
}

static void end_folder(struct writer *writer) {
  if (writer->depth == 0) fail_with(EPROTO, "the output is not in order");
  int fd = writer->folders[writer->depth--];
  if (fd >= 0) close(fd);
}

static void take_name(struct writer *writer, const char *bytes, size_t length) {
  if (writer->in_file || length == 0 || length > OUTPUT_NAME_BYTES) fail_with(EPROTO, "the output is not in order");
  memcpy(writer->name, bytes, length);
  writer->name[length] = '\0';
  if (strlen(writer->name) != length || !output_name_is_plain(writer->name)) fail_with(EPROTO, "the output has an odd name");
}

/* False when it was the last. */
static bool take(struct writer *writer, uint32_t kind, const char *bytes, size_t length) {
  switch (kind) {
  case OUTPUT_FOLDER:
    take_name(writer, bytes, length);
    begin_folder(writer);
    return true;
  case OUTPUT_FILE:
    take_name(writer, bytes, length);
    begin_file(writer);
    return true;
  case OUTPUT_BYTES:
    add_bytes(writer, bytes, length);
    return true;
  case OUTPUT_END:
  case OUTPUT_TORN:
    if (writer->in_file) end_file(writer, kind == OUTPUT_END);
    else end_folder(writer);
    return true;
  case OUTPUT_SKIPPED:
    writer->counts.skipped++;
    return true;
  case OUTPUT_DONE:
    writer->counts.whole = length == 1 && *bytes == 'w';
    return false;
  default:
    fail_with(EPROTO, "the output is not in order");
  }
}

struct output_counts output_write(int in, const char *id, uint64_t reserve_bytes) {
  static char bytes[OUTPUT_PIECE_BYTES];
  struct writer writer = {.file = -1, .reserve_bytes = reserve_bytes};
  struct output_record record;
  int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  writer.folders[0] = root < 0 ? -1 : enter_folder(root, id);
  if (writer.folders[0] < 0) fail("cannot make the folder of the sandbox");
  do {
    if (read_whole(in, &record, sizeof record) != sizeof record || record.length > sizeof bytes ||
        read_whole(in, bytes, record.length) != (ssize_t)record.length)
      _exit(1); /* the reader has ended, and said why */
  } while (take(&writer, record.kind, bytes, record.length));
  return writer.counts;
}
