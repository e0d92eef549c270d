/* A mark is the list of entries as last seen: for each a fixed head, then the bytes of its path. */
#include "helper.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "CAISMRK1";

struct head {
  uint64_t ino;
  int64_t ctime_ns;
  uint64_t size;
  uint32_t mode;
  uint32_t path_length;
};

bool close_whole(FILE *out) {
  struct stat info;
  int fd = fileno(out);
  bool written = fflush(out) == 0 && fstat(fd, &info) == 0;
  long end = ftell(out);
  if (written && info.st_size > end) written = end >= 0 && ftruncate(fd, end) == 0;
  return fclose(out) == 0 && written;
}

void mark_write(int fd, const struct entries *entries) {
  FILE *out = fdopen(fd, "w");
  if (out == NULL) fail("cannot write the mark");
  static char buffer[1 << 16];
  setvbuf(out, buffer, _IOFBF, sizeof buffer);
  fwrite(magic, 1, sizeof magic, out);
  for (size_t i = 0; i < entries->count; i++) {
    const struct entry *entry = &entries->list[i];
    struct head head = {entry->ino, entry->ctime_ns, entry->size, entry->mode, entry->path_length};
    fwrite(&head, 1, sizeof head, out);
    fwrite(entry->path, 1, entry->path_length, out);
  }
  if (!close_whole(out)) fail("cannot write the mark");
}

void mark_read(int fd, struct entries *entries) {
  struct stat info;
  if (fstat(fd, &info) != 0 || info.st_size < (off_t)sizeof magic) fail_with(EINVAL, "the mark cannot be read");
  size_t size = (size_t)info.st_size;
  char *bytes = arena(size);
  if (read_whole(fd, bytes, size) != (ssize_t)size || memcmp(bytes, magic, sizeof magic) != 0)
    fail_with(EINVAL, "the mark cannot be read");
  for (size_t at = sizeof magic; at < size;) {
    struct head head;
    if (size - at < sizeof head) fail_with(EINVAL, "the mark is cut short");
    memcpy(&head, bytes + at, sizeof head);
    at += sizeof head;
    if (size - at < head.path_length) fail_with(EINVAL, "the mark is cut short");
    struct entry entry = {.ino = head.ino,
                          .ctime_ns = head.ctime_ns,
                          .size = head.size,
                          .mode = head.mode,
                          .path_length = head.path_length,
                          .path = bytes + at};
    entries_add(entries, &entry);
    at += head.path_length;
  }
}
