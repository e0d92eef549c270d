/* A hostile archive, read by the real untar.c. What stands in it is checked, and not done. An input is the archive; the
   checksums of its headers are put right first, or hardly any would be read. */
#define _GNU_SOURCE
#include "fuzz.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../guest/untar.h"

enum { DEPTH = 20 };

/* ---- the rest of the worker ---- */

volatile sig_atomic_t aborted;

int write_all(int fd, const void *data, size_t size) { /* the reason for a refusal */
  const char *text = data;
  expect(fd == OUT && size < 512 && memchr(text, 0, size) == NULL, "a reason is a short text");
  return 0;
}

/* ---- the archive ---- */

static void mend(uint8_t *bytes, size_t size) {
  for (size_t at = 0; at + TAR_BLOCK <= size; at += TAR_BLOCK) {
    struct tar_header header;
    memcpy(&header, bytes + at, sizeof header);
    if (memcmp(header.magic, "ustar", 5)) continue;
    uint32_t sum = tar_checksum(&header);
    for (int digit = 5; digit >= 0; digit--, sum >>= 3) header.checksum[digit] = (char)('0' + (sum & 7));
    header.checksum[6] = 0;
    header.checksum[7] = ' ';
    memcpy(bytes + at, &header, sizeof header);
  }
}

static void check_name(const char *name, int depth) {
  int parts = 0;
  for (const char *at = name; *at;) {
    size_t length = strcspn(at, "/");
    expect(length > 0, "a name has no empty part");
    expect(strncmp(at, ".", length) || length != 1, "a name has no part .");
    expect(strncmp(at, "..", length) || length != 2, "a name has no part ..");
    expect(length < 256, "a part of a name fits into a folder");
    at += length + (at[length] == '/');
    parts++;
  }
  expect(parts == depth && depth <= DEPTH, "a name is as deep as it says");
}

static void check(const struct untar_entry *entry) {
  expect(memchr(entry->name, 0, sizeof entry->name) && memchr(entry->target, 0, sizeof entry->target), "names end");
  check_name(entry->name, entry->depth);
  expect(strchr("0125", entry->type), "an entry is a file, a folder or a link");
  expect(entry->type == TAR_FILE || entry->size == 0, "only files have bytes");
  expect((entry->mode & ~0777u) == 0, "a mode gives no more than rights");
}

static void run(const uint8_t *data, size_t size) {
  static struct spec limits = {.depth = DEPTH, .count = 1000, .length = 1 << 20};
  static struct untar_entry entry;
  static char buffer[4096];
  static uint8_t archive[INPUT_BYTES];
  memcpy(archive, data, size);
  mend(archive, size);
  int file = memfd_create("archive", 0);
  if (file < 0 || write(file, archive, size) != (ssize_t)size || lseek(file, 0, SEEK_SET) || dup2(file, IN) < 0) exit(2);
  while (untar_next(&entry, &limits) > 0) {
    check(&entry);
    uint64_t bytes = 0;
    ssize_t got = 0;
    while (entry.type == TAR_FILE && (got = untar_read(buffer, sizeof buffer)) > 0) bytes += (uint64_t)got;
    if (got < 0) return;
    expect(bytes == entry.size, "a file is as long as it says");
  }
}

const struct target tar_target = {"tar", run};
