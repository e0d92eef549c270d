#define _GNU_SOURCE
#include "untar.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What the extended headers before an entry say of it. */
static struct {
  char name[PATH_BYTES], target[PATH_BYTES];
  bool has_name, has_target, has_size, has_mtime;
  uint64_t size;
  struct timespec mtime;
} extra;
static uint64_t left, padding; /* of the current file */

int refuse(int error, const char *format, ...) {
  char text[512];
  va_list values;
  va_start(values, format);
  int size = vsnprintf(text, sizeof text, format, values);
  va_end(values);
  if (size > 0) write_all(OUT, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1);
  return errno = error, -1;
}

/* Whole, or refused; with `may_end` a clean end of input gives 0. */
static int read_whole(void *buffer, size_t size, bool may_end) {
  for (size_t have = 0; have < size;) {
    ssize_t got = aborted ? -1 : read(IN, (char *)buffer + have, size - have);
    if (aborted) return errno = ECANCELED, -1;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0 && have == 0 && may_end) return 0;
    if (got == 0) return refuse(EBADMSG, "it is cut short");
    have += (size_t)got;
  }
  return 1;
}

static bool is_zero(const struct tar_header *header) {
  for (size_t i = 0; i < sizeof *header; i++)
    if (((const char *)header)[i]) return false;
  return true;
}

/* Octal digits, or base 256 when the first bit is set. Negative numbers and those past 63 bits are none. */
static bool number(const char *field, size_t size, uint64_t *out) {
  const uint8_t *bytes = (const uint8_t *)field;
  uint64_t value = 0;
  size_t i = 0;
  if (bytes[0] & 0x80) {
    if (bytes[0] != 0x80) return false;
    for (i = 1; i < size; i++) {
      if (value >> 55) return false;
      value = value << 8 | bytes[i];
    }
    return *out = value, true;
  }
  while (i < size && field[i] == ' ') i++;
  for (; i < size && field[i] >= '0' && field[i] <= '7'; i++) {
    if (value >> 60) return false;
    value = value << 3 | (uint64_t)(field[i] - '0');
  }
  for (; i < size; i++)
    if (field[i] != ' ' && field[i] != 0) return false;
  return *out = value, true;
}

static bool checksum_holds(const struct tar_header *header) {
  uint64_t said;
  int32_t as_signed = 0;
  const size_t at = offsetof(struct tar_header, checksum);
  for (size_t i = 0; i < TAR_BLOCK; i++)
    as_signed += i >= at && i < at + sizeof header->checksum ? ' ' : (int8_t)((const char *)header)[i];
  if (!number(header->checksum, sizeof header->checksum, &said)) return false;
  return said == tar_checksum(header) || (as_signed >= 0 && said == (uint64_t)as_signed);
}

static bool decimal(const char *text, uint64_t most, uint64_t *out) {
  uint64_t value = 0;
  if (!*text) return false;
  for (; *text; text++) {
    if (*text < '0' || *text > '9' || value > (most - (uint64_t)(*text - '0')) / 10) return false;
    value = value * 10 + (uint64_t)(*text - '0');
  }
  return *out = value, true;
}

/* Seconds, maybe with a sign and a fraction, of which nine digits count. */
static bool seconds(char *text, struct timespec *out) {
  bool negative = *text == '-';
  uint64_t value;
  long fraction = 0;
  char *point = strchr(text, '.');
  if (point) {
    size_t digits = strspn(point + 1, "0123456789");
    if (point[1 + digits]) return false;
    for (size_t i = 0; i < 9; i++) fraction = fraction * 10 + (i < digits ? point[1 + i] - '0' : 0);
    *point = 0;
  }
  if (!decimal(text + negative, INT64_MAX - 1, &value)) return false;
  *out = (struct timespec){.tv_sec = negative ? -(int64_t)value : (int64_t)value, .tv_nsec = fraction};
  if (negative && fraction) *out = (struct timespec){.tv_sec = -(int64_t)value - 1, .tv_nsec = 1000000000 - fraction};
  return true;
}

static int take_text(char *into, bool *has, const char *value, size_t size) {
  if (size == 0 || size >= PATH_BYTES || memchr(value, 0, size))
    return refuse(EBADMSG, "an extended header holds a name that is none");
  memcpy(into, value, size);
  into[size] = 0;
  *has = true;
  return 0;
}

static int take_record(const char *key, char *value, size_t size, bool global) {
  bool path = !strcmp(key, "path"), target = !strcmp(key, "linkpath");
  if (global && (path || target || !strcmp(key, "size"))) return refuse(EBADMSG, "one header names every entry");
  if (path) return take_text(extra.name, &extra.has_name, value, size);
  if (target) return take_text(extra.target, &extra.has_target, value, size);
  if (!strcmp(key, "size")) {
    extra.has_size = true;
    return decimal(value, INT64_MAX, &extra.size) ? 0 : refuse(EBADMSG, "an extended header holds no valid size");
  }
  if (!strcmp(key, "mtime") && !global) {
    extra.has_mtime = true;
    return seconds(value, &extra.mtime) ? 0 : refuse(EBADMSG, "an extended header holds no valid time");
  }
  if (!strncmp(key, "GNU.sparse", 10)) return refuse(EBADMSG, "it holds a sparse file, which is not supported");
  return 0; /* owners, comments, attributes: nothing that is kept */
}

/* Records of `length key=value newline`. */
static int take_records(char *text, size_t size, bool global) {
  while (size > 0) {
    uint64_t length = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 8 || text[digits] != ' ') return refuse(EBADMSG, "an extended header is damaged");
    text[digits] = 0;
    decimal(text, UINT32_MAX, &length);
    if (length > size || length < digits + 4 || text[length - 1] != '\n')
      return refuse(EBADMSG, "an extended header is damaged");
    text[length - 1] = 0;
    char *key = text + digits + 1, *equals = memchr(key, '=', length - digits - 2);
    if (!equals || equals == key) return refuse(EBADMSG, "an extended header is damaged");
    *equals = 0;
    if (take_record(key, equals + 1, (size_t)(text + length - 1 - (equals + 1)), global) < 0) return -1;
    text += length;
    size -= length;
  }
  return 0;
}

static int take_extra(char type, uint64_t size) {
  static char text[TAR_EXTRA_BYTES + TAR_BLOCK + 1];
  if (size > TAR_EXTRA_BYTES) return refuse(EOVERFLOW, "an extended header is past %d bytes", TAR_EXTRA_BYTES);
  if (size == 0) return refuse(EBADMSG, "an extended header is empty");
  if (read_whole(text, (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK, false) < 0) return -1;
  text[size] = 0;
  if (type == TAR_EXTENDED || type == TAR_GLOBAL) return take_records(text, size, type == TAR_GLOBAL);
  size_t length = size - (text[size - 1] == 0); /* GNU counts the NUL */
  if (type == TAR_LONG_NAME) return take_text(extra.name, &extra.has_name, text, length);
  return take_text(extra.target, &extra.has_target, text, length);
}

/* Copies a name without its `.` and empty parts. */
static int check_name(struct untar_entry *entry, const char *name, const struct spec *limits) {
  size_t used = 0;
  entry->depth = 0;
  if (name[0] == '/') return refuse(EBADMSG, "\"%.200s\" is an absolute name", name);
  for (const char *at = name; *at;) {
    size_t length = strcspn(at, "/");
    if (length == 2 && at[0] == '.' && at[1] == '.') return refuse(EBADMSG, "\"%.200s\" leads out of the folder", name);
    if (length > 255) return refuse(EBADMSG, "\"%.200s\" has a part past 255 bytes", name);
    if (length > 0 && !(length == 1 && at[0] == '.')) {
      if (used + length + 2 > sizeof entry->name) return refuse(EBADMSG, "\"%.200s\" is too long a name", name);
      if (used) entry->name[used++] = '/';
      memcpy(entry->name + used, at, length);
      used += length;
      if ((uint64_t)++entry->depth > limits->depth)
        return refuse(EOVERFLOW, "\"%.200s\" is deeper than %d folders", name, (int)limits->depth);
    }
    at += length + (at[length] == '/');
  }
  entry->name[used] = 0;
  return 0;
}

/* A target stays in the folder whatever other links it passes: relative, with `..` only at its start, and no more of
   them than there are folders above the link. */
static int check_target(const struct untar_entry *entry) {
  const char *target = entry->target;
  int up = 0;
  bool down = false;
  if (!target[0] || target[0] == '/')
    return refuse(EBADMSG, "\"%.200s\" is a link to \"%.200s\", out of the folder", entry->name, target);
  for (const char *at = target; *at;) {
    size_t length = strcspn(at, "/");
    if (length == 2 && at[0] == '.' && at[1] == '.') {
      if (down || ++up >= entry->depth)
        return refuse(EBADMSG, "\"%.200s\" is a link to \"%.200s\", out of the folder", entry->name, target);
    } else if (length > 0 && !(length == 1 && at[0] == '.')) {
      down = true;
    }
    at += length + (at[length] == '/');
  }
  return 0;
}

static void header_text(char *into, const char *prefix, size_t prefix_size, const char *field, size_t size) {
  size_t before = strnlen(prefix, prefix_size), length = strnlen(field, size);
  memcpy(into, prefix, before);
  if (before) into[before++] = '/';
  memcpy(into + before, field, length);
  into[before + length] = 0;
}

static int take_type(struct untar_entry *entry, char type, bool slash, bool exact) {
  switch ((enum tar_type)type) {
    case TAR_FILE:
    case TAR_CONTIGUOUS:
      entry->type = TAR_FILE;
      if (slash) return refuse(EBADMSG, "\"%.200s\" is a file named as a folder", entry->name);
      break;
    case TAR_OLD_FILE: entry->type = slash ? TAR_FOLDER : TAR_FILE; break;
    case TAR_HARD_LINK:
    case TAR_LINK:
    case TAR_FOLDER: entry->type = type; break;
    case TAR_CHARACTER_DEVICE:
    case TAR_BLOCK_DEVICE: return refuse(EBADMSG, "\"%.200s\" is a device", entry->name);
    case TAR_FIFO: return refuse(EBADMSG, "\"%.200s\" is a FIFO", entry->name);
    case TAR_REMOVAL:
    case TAR_CHANGE:
      if (exact) {
        entry->type = type;
        break;
      } /* fallthrough */
    default: return refuse(EBADMSG, "\"%.200s\" is of an unknown kind", entry->name);
  }
  if (entry->type != TAR_FILE && entry->size) return refuse(EBADMSG, "\"%.200s\" is no file but has bytes", entry->name);
  if (entry->type != TAR_FOLDER && entry->depth == 0) return refuse(EBADMSG, "an entry has no name");
  return 0;
}

static int take_entry(const struct tar_header *header, uint64_t size, struct untar_entry *entry,
                      const struct spec *limits) {
  char name[PATH_BYTES];
  uint64_t mode, mtime;
  bool ustar = !memcmp(header->magic, "ustar", 6), exact = limits->flags & FLAG_EXACT;
  header_text(name, header->prefix, ustar ? sizeof header->prefix : 0, header->name, sizeof header->name);
  const char *whole = extra.has_name ? extra.name : name;
  if (check_name(entry, whole, limits) < 0) return -1;
  if (extra.has_target) strcpy(entry->target, extra.target);
  else header_text(entry->target, "", 0, header->target, sizeof header->target);
  if (!number(header->mode, sizeof header->mode, &mode)) return refuse(EBADMSG, "\"%.200s\" has no mode", entry->name);
  if (mode & 06000) return refuse(EBADMSG, "\"%.200s\" is set-uid or set-gid", entry->name);
  if (!number(header->mtime, sizeof header->mtime, &mtime) || mtime > INT64_MAX) mtime = 0;
  entry->mode = (uint32_t)mode & 0777;
  entry->size = extra.has_size ? extra.size : size;
  entry->mtime = extra.has_mtime ? extra.mtime : (struct timespec){.tv_sec = (int64_t)mtime};
  size_t length = strlen(whole);
  if (take_type(entry, header->type, length && whole[length - 1] == '/', exact) < 0) return -1;
  if (entry->type == TAR_LINK && !exact && check_target(entry) < 0) return -1;
  if (entry->type == TAR_HARD_LINK) { /* its target is a name like the entry's own */
    static struct untar_entry target;
    if (check_name(&target, entry->target, limits) < 0) return -1;
    strcpy(entry->target, target.name);
  }
  left = entry->size;
  padding = (TAR_BLOCK - left % TAR_BLOCK) % TAR_BLOCK;
  return 1;
}

/* Two blocks of zeros end an archive; only zeros may follow. */
static int take_end(void) {
  static struct tar_header block;
  if (read_whole(&block, sizeof block, false) < 0) return -1;
  for (int blocks = 0; blocks < TAR_TAIL_BLOCKS; blocks++) {
    if (!is_zero(&block)) return refuse(EBADMSG, "something follows its end");
    int got = read_whole(&block, sizeof block, true);
    if (got <= 0) return got;
  }
  return refuse(EBADMSG, "its end has no end");
}

int untar_next(struct untar_entry *entry, const struct spec *limits) {
  struct tar_header header;
  memset(&extra, 0, sizeof extra);
  for (int extras = 0;; extras++) {
    uint64_t size;
    if (read_whole(&header, sizeof header, false) < 0) return -1;
    if (is_zero(&header)) return extras ? refuse(EBADMSG, "an extended header has no entry") : take_end();
    if (!checksum_holds(&header)) return refuse(EBADMSG, "it is no tar archive, or damaged: a checksum is wrong");
    if (!number(header.size, sizeof header.size, &size)) return refuse(EBADMSG, "an entry's size is no number");
    bool is_extra = header.type == TAR_EXTENDED || header.type == TAR_GLOBAL || header.type == TAR_LONG_NAME ||
                    header.type == TAR_LONG_TARGET;
    if (!is_extra) return take_entry(&header, size, entry, limits);
    if (extras == 8) return refuse(EBADMSG, "an entry has too many extended headers");
    if (take_extra(header.type, size) < 0) return -1;
  }
}

ssize_t untar_read(void *buffer, size_t size) {
  if (left == 0) {
    char rest[TAR_BLOCK];
    if (padding && read_whole(rest, padding, false) < 0) return -1;
    padding = 0;
    return 0;
  }
  if (size > left) size = (size_t)left;
  if (read_whole(buffer, size, false) < 0) return -1;
  left -= size;
  return (ssize_t)size;
}
