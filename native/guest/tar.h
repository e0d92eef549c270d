/* The blocks of a tar archive: POSIX.1-2001 (pax) and ustar; of GNU's own only long names. */
#ifndef CAISSON_TAR_H
#define CAISSON_TAR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TAR_BLOCK = 512, TAR_OCTAL_MAX_BITS = 33, TAR_EXTRA_BYTES = 64 * 1024, TAR_TAIL_BLOCKS = 8192 };

enum tar_type {
  TAR_FILE = '0',
  TAR_OLD_FILE = 0,
  TAR_HARD_LINK = '1',
  TAR_LINK = '2',
  TAR_CHARACTER_DEVICE = '3',
  TAR_BLOCK_DEVICE = '4',
  TAR_FOLDER = '5',
  TAR_FIFO = '6',
  TAR_CONTIGUOUS = '7',
  TAR_EXTENDED = 'x',
  TAR_GLOBAL = 'g',
  TAR_LONG_NAME = 'L',
  TAR_LONG_TARGET = 'K',
  /* Between us and the host only: what could not be read; what goes; what changes but for its bytes. */
  TAR_UNREADABLE = 'U',
  TAR_REMOVAL = 'R',
  TAR_CHANGE = 'C',
};

struct tar_header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, target[100];
  char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], padding[12];
};
_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "tar header");

/* The sum over the header with spaces in place of the sum itself. */
static inline uint32_t tar_checksum(const struct tar_header *header) {
  const uint8_t *bytes = (const uint8_t *)header;
  const size_t at = offsetof(struct tar_header, checksum);
  uint32_t sum = 0;
  for (size_t i = 0; i < TAR_BLOCK; i++) sum += i >= at && i < at + sizeof header->checksum ? ' ' : bytes[i];
  return sum;
}

#endif
