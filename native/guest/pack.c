#define _GNU_SOURCE
#include "tar.h"
#include "worker.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A folder as a tar archive, in constant memory: a header, the bytes, the next. Links are told as links and never
   followed; a name with several links is told as several files. Set-uid and set-gid bits stay behind.

   With FLAG_EXACT it is what a snapshot is made of: names in order, times to the nanosecond, a file's further names as
   hard links, and what could not be read as an entry of its own. What is not the user's at the top, which is the input
   folder, is left out. */

/* Follows the archive's end, so that the host learns what is not in it. */
struct trailer {
  uint64_t entries, skipped, unreadable, changed;
  uint8_t mark[8]; /* an archive that does not end with it is not whole */
};

static struct trailer told = {.mark = {'p', 'a', 'c', 'k', 'e', 'd', '\r', '\n'}};
static uint64_t bytes_left;
static bool exact;
static char shown[PATH_BYTES + 256];

static void octal(char *field, size_t size, uint64_t value) {
  field[size - 1] = 0;
  for (size_t i = size - 1; i-- > 0; value >>= 3) field[i] = (char)('0' + (value & 7));
}

static int write_header(struct tar_header *header) {
  memcpy(header->magic, "ustar", 6);
  memcpy(header->version, "00", 2);
  octal(header->uid, sizeof header->uid, USER_ID);
  octal(header->gid, sizeof header->gid, USER_ID);
  octal(header->checksum, 7, tar_checksum(header));
  header->checksum[7] = ' ';
  return write_all(OUT, header, sizeof *header);
}

static int pad(uint64_t size) {
  static const char zeros[TAR_BLOCK];
  return size % TAR_BLOCK ? write_all(OUT, zeros, TAR_BLOCK - size % TAR_BLOCK) : 0;
}

/* `length key=value newline`, where the length counts its own digits. */
static size_t put_record(char *at, const char *key, const char *value) {
  size_t rest = strlen(key) + strlen(value) + 3, length = rest + 1;
  char digits[24];
  for (int i = 0; i < 4; i++) length = rest + (size_t)snprintf(digits, sizeof digits, "%zu", length);
  return (size_t)sprintf(at, "%s %s=%s\n", digits, key, value);
}

static bool is_ascii(const char *text) {
  for (; *text; text++)
    if ((unsigned char)*text >= 0x80) return false;
  return true;
}

/* Before 1970 the fraction counts downwards from the second after. gVisor does so in its stat, where -1 is 2^32 - 1. */
static void put_time(char *text, size_t size, struct timespec time) {
  time.tv_nsec = (int32_t)time.tv_nsec;
  if (time.tv_nsec < 0) time.tv_sec--, time.tv_nsec += 1000000000;
  long long seconds = time.tv_sec;
  long fraction = exact ? time.tv_nsec : 0;
  bool negative = seconds < 0;
  if (negative && fraction) seconds++, fraction = 1000000000 - fraction;
  int used = snprintf(text, size, "%s%lld", negative ? "-" : "", negative ? -seconds : seconds);
  if (fraction) snprintf(text + used, size - (size_t)used, ".%09ld", fraction);
}

static int write_extended(const char *name, const char *target, const struct stat *info, uint64_t size) {
  static char records[4 * PATH_BYTES];
  char number[32];
  size_t used = 0;
  bool binary = !is_ascii(name) || !is_ascii(target);
  bool old = info->st_mtim.tv_sec < 0 || (uint64_t)info->st_mtim.tv_sec >> TAR_OCTAL_MAX_BITS;
  bool fine = old || (exact && info->st_mtim.tv_nsec);
  bool long_name = strlen(name) > sizeof((struct tar_header *)0)->name;
  bool long_target = strlen(target) > sizeof((struct tar_header *)0)->target;
  if (!long_name && !long_target && !fine && !(size >> TAR_OCTAL_MAX_BITS)) return 0;
  if (binary) used += put_record(records + used, "hdrcharset", "BINARY"); /* names are bytes, whatever they mean */
  if (long_name) used += put_record(records + used, "path", name);
  if (long_target) used += put_record(records + used, "linkpath", target);
  if (size >> TAR_OCTAL_MAX_BITS) {
    snprintf(number, sizeof number, "%llu", (unsigned long long)size);
    used += put_record(records + used, "size", number);
  }
  if (fine) {
    put_time(number, sizeof number, info->st_mtim);
    used += put_record(records + used, "mtime", number);
  }
  struct tar_header header = {.name = "././@PaxHeader", .type = TAR_EXTENDED};
  octal(header.mode, sizeof header.mode, 0644);
  octal(header.size, sizeof header.size, used);
  octal(header.mtime, sizeof header.mtime, 0);
  if (write_header(&header) < 0 || write_all(OUT, records, used) < 0) return -1;
  return pad(used);
}

static void put_text(char *field, size_t size, const char *text) {
  size_t length = strlen(text);
  memcpy(field, text, length < size ? length : size);
}

static int write_entry(char type, const char *name, const char *target, const struct stat *info) {
  uint64_t size = type == TAR_FILE ? (uint64_t)info->st_size : 0;
  struct tar_header header = {.type = type};
  if (size > bytes_left) return errno = EFBIG, -1; /* a sparse file has any size for nothing */
  bytes_left -= size;
  told.entries++;
  if (write_extended(name, target, info, size) < 0) return -1;
  put_text(header.name, sizeof header.name, name);
  put_text(header.target, sizeof header.target, target);
  octal(header.mode, sizeof header.mode, info->st_mode & 0777);
  octal(header.size, sizeof header.size, size & (((uint64_t)1 << TAR_OCTAL_MAX_BITS) - 1));
  octal(header.mtime, sizeof header.mtime, info->st_mtim.tv_sec < 0 ? 0 : (uint64_t)info->st_mtim.tv_sec);
  return write_header(&header);
}

/* As many bytes as the header says: a file that shrinks meanwhile ends in zeros, one that grows is cut. */
static int write_bytes(int fd, uint64_t size) {
  static char buffer[64 * 1024];
  bool short_of = false;
  for (uint64_t left = size; left > 0;) {
    size_t wanted = left < sizeof buffer ? (size_t)left : sizeof buffer;
    ssize_t got = short_of ? 0 : read(fd, buffer, wanted);
    if (got < 0) return -1;
    if (got == 0) {
      if (!short_of) told.changed++, memset(buffer, 0, sizeof buffer);
      short_of = true;
      got = (ssize_t)wanted;
    }
    if (write_all(OUT, buffer, (size_t)got) < 0) return -1;
    left -= (uint64_t)got;
  }
  return pad(size);
}

static int unreadable(const struct stat *info) {
  told.unreadable++;
  return exact ? write_entry(TAR_UNREADABLE, shown, "", info) : 0;
}

/* After a call that failed on a name. */
static int passed_over(const struct stat *info) {
  if (errno == ENOENT) return 0;
  return walk_shut(errno) ? unreadable(info) : -1;
}

static int pack_file(int folder, const char *name, struct stat info) {
  int fd = walk_file(folder, name, &info);
  if (fd < 0) return passed_over(&info);
  const char *first = exact ? hard_link_of(&info, shown) : NULL;
  int result = write_entry(first ? TAR_HARD_LINK : TAR_FILE, shown, first ? first : "", &info);
  if (result == 0 && !first) result = write_bytes(fd, (uint64_t)info.st_size);
  int error = errno;
  close(fd);
  return errno = error, result;
}

static int pack_link(int folder, const char *name, const struct stat *info) {
  char target[PATH_BYTES];
  ssize_t size = readlinkat(folder, name, target, sizeof target - 1);
  if (size < 0) return errno == EINVAL ? unreadable(info) : passed_over(info); /* EINVAL: no link any more */
  target[size] = 0;
  return write_entry(TAR_LINK, shown, target, info);
}

static int pack_folder(int folder, size_t length, int depth);

/* `shown` holds the path of the folder, length bytes. */
static int pack_one(int folder, const char *name, size_t length, int depth) {
  struct stat info;
  size_t size = strlen(name);
  if (length + size + 2 > PATH_BYTES) return errno = ENAMETOOLONG, -1;
  memcpy(shown + length, name, size + 1);
  if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) < 0) {
    info = (struct stat){0};
    return passed_over(&info); /* gone meanwhile, or in a folder that only tells names */
  }
  if (exact && depth == 0 && info.st_uid != USER_ID) return 0;
  if (S_ISLNK(info.st_mode)) return pack_link(folder, name, &info);
  if (S_ISREG(info.st_mode)) return pack_file(folder, name, info);
  if (!S_ISDIR(info.st_mode)) {
    told.skipped++;
    return 0;
  }
  strcpy(shown + length + size, "/");
  if (write_entry(TAR_FOLDER, shown, "", &info) < 0) return -1;
  int inner = walk_folder(folder, name);
  if (inner < 0) return errno == ENOENT || walk_shut(errno) ? unreadable(&info) : -1;
  return pack_folder(inner, length + size + 1, depth + 1);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The names of a folder in the order of their bytes, or -1 with errno. */
static ssize_t sorted_names(DIR *list, char ***names) {
  size_t count = 0, room = 0;
  struct dirent *entry;
  while (errno = 0, (entry = readdir(list))) {
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    if (count == room) {
      char **more = realloc(*names, (room = room ? room * 2 : 64) * sizeof *more);
      if (!more) return -1;
      *names = more;
    }
    if (!((*names)[count] = strdup(entry->d_name))) return -1;
    count++;
  }
  if (errno) return -1;
  if (count) qsort(*names, count, sizeof **names, by_name);
  return (ssize_t)count;
}

/* The names are held for as long as the worker is in the folder; those that come meanwhile are not seen. */
static int pack_in_order(int folder, size_t length, int depth) {
  char **names = NULL;
  DIR *list = fdopendir(folder);
  if (!list) return close(folder), -1;
  ssize_t count = sorted_names(list, &names);
  int result = count < 0 ? -1 : 0, error = errno;
  for (ssize_t i = 0; i < count; i++) {
    if (result == 0 && !aborted) result = pack_one(folder, names[i], length, depth), error = errno;
    free(names[i]);
  }
  free(names);
  closedir(list);
  return errno = aborted ? ECANCELED : error, aborted ? -1 : result;
}

struct level {
  size_t length; /* of the folder's path, which `shown` holds */
  int depth;
};

static int pack_next(int folder, const char *name, void *about) {
  const struct level *at = about;
  if (aborted) return errno = ECANCELED, -1; /* user code may have sent the signal: half an archive is none */
  return pack_one(folder, name, at->length, at->depth);
}

static int pack_folder(int folder, size_t length, int depth) {
  struct level at = {length, depth};
  if (!exact) return walk_each(folder, depth, pack_next, &at);
  if (depth > DEPTH_MAX) return close(folder), errno = ENAMETOOLONG, -1;
  return pack_in_order(folder, length, depth);
}

/* A folder is told by what is in it, a file by its own name. */
int pack(const struct spec *spec) {
  static const char end[2 * TAR_BLOCK];
  char last[256];
  bytes_left = spec->length ? spec->length : UINT64_MAX;
  exact = spec->flags & FLAG_EXACT;
  int folder = walk_open(spec->path, O_RDONLY | O_DIRECTORY), result;
  if (folder >= 0) {
    result = pack_folder(folder, 0, 0);
  } else {
    if (errno != ENOTDIR || (folder = walk_parent(spec->path, false, last)) < 0) return -1;
    result = pack_one(folder, last, 0, 0);
  }
  if (result < 0 || write_all(OUT, end, sizeof end) < 0) return -1;
  return write_all(OUT, &told, sizeof told);
}
