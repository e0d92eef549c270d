/*
 * The digest of a layer's file: SHA-256 over every block that is not all zeros, each after its number, and the size. So
 * holes and zeros are the same, and what takes no disk takes no time.
 */
#include "helper.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 16 };

static void update_number(struct sha256 *hash, uint64_t number) {
  uint8_t bytes[8];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(number >> (8 * i));
  sha256_update(hash, bytes, sizeof bytes);
}

static bool is_zero(const uint8_t *bytes, size_t size) {
  return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* Bytes of the last block past the end count as zeros. */
static void hash_block(struct sha256 *hash, int fd, uint64_t number) {
  static uint8_t bytes[BLOCK];
  memset(bytes, 0, sizeof bytes);
  for (size_t held = 0; held < sizeof bytes;) {
    ssize_t got = pread(fd, bytes + held, sizeof bytes - held, (off_t)(number * BLOCK + held));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot read the layer");
    if (got == 0) break;
    held += (size_t)got;
  }
  if (is_zero(bytes, sizeof bytes)) return;
  update_number(hash, number);
  sha256_update(hash, bytes, sizeof bytes);
}

/* What it read leaves the page cache again: a layer's pages are those of its mount. */
void layer_digest(int fd, char hex[65]) {
  struct sha256 hash;
  struct stat info;
  uint8_t digest[32];
  uint64_t next = 0;
  if (fstat(fd, &info) != 0) fail("cannot read the layer");
  sha256_init(&hash);
  for (off_t data = 0; (data = lseek(fd, data, SEEK_DATA)) >= 0;) {
    off_t hole = lseek(fd, data, SEEK_HOLE);
    if (hole < 0) fail("cannot find the holes of the layer");
    uint64_t first = (uint64_t)data / BLOCK, past = ((uint64_t)hole + BLOCK - 1) / BLOCK;
    for (uint64_t number = first > next ? first : next; number < past; number++) hash_block(&hash, fd, number);
    next = past;
    data = hole;
  }
  if (errno != ENXIO) fail("cannot find the data of the layer");
  update_number(&hash, (uint64_t)info.st_size);
  sha256_final(&hash, digest);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  for (size_t i = 0; i < sizeof digest; i++) {
    hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
    hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
  }
  hex[64] = '\0';
}
