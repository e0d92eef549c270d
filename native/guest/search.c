#define _GNU_SOURCE
#include "worker.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Names and lines under a folder. Links are not followed, and only regular files are opened. */

enum { BUFFER_BYTES = 256 * 1024, TEXT_BYTES = 1024, LINE_BYTES = 4096, CONTEXT_BYTES = 64 };

/* A match: this, then the path, then the line. The last row has END in place of a path's size. */
struct match {
  uint32_t mode, path_size, line_size, truncated;
  uint64_t line, column; /* of END: files that were read, matches */
};

static const struct spec *wanted;
static size_t text_size, line_bytes;
static uint64_t matches, files_read, bytes_left;
static bool truncated;
static char shown[PATH_BYTES + 256], folded_text[TEXT_BYTES];
static char buffer[BUFFER_BYTES], folded[BUFFER_BYTES];

/* Where in a file the buffer stands. */
struct scan {
  size_t have;      /* bytes in the buffer */
  uint64_t base;    /* offset in the file of the buffer's first byte */
  uint64_t line;    /* number of the line that `counted` is in */
  uint64_t line_at; /* offset in the file at which that line starts */
  size_t counted;   /* newlines before this place are counted */
  bool end, cut;    /* no more is read; the file goes on */
};

static char fold(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c; }

static int tell(uint32_t mode, uint64_t line, uint64_t column, const char *text, size_t size) {
  struct match row = {mode, (uint32_t)strlen(shown), (uint32_t)size, 0, line, column};
  if (matches == wanted->count) return truncated = true, 1;
  matches++;
  if (write_all(OUT, &row, sizeof row) < 0 || write_all(OUT, shown, row.path_size) < 0) return -1;
  return write_all(OUT, text, size);
}

/* Drops what lies before `keep` and reads on. -1 with errno. */
static int refill(struct scan *s, int fd, size_t keep) {
  memmove(buffer, buffer + keep, s->have - keep);
  memmove(folded, folded + keep, s->have - keep);
  s->have -= keep;
  s->base += keep;
  s->counted = s->counted > keep ? s->counted - keep : 0;
  while (!s->end && s->have < BUFFER_BYTES) {
    size_t size = BUFFER_BYTES - s->have;
    if (size > bytes_left) size = (size_t)bytes_left;
    ssize_t got = aborted || size == 0 ? 0 : read(fd, buffer + s->have, size);
    if (aborted) return errno = ECANCELED, -1;
    if (got < 0) return -1;
    if (size == 0) truncated = s->cut = true;
    if (got == 0) s->end = true;
    bytes_left -= (uint64_t)got;
    for (ssize_t i = 0; i < got && wanted->flags & FLAG_IGNORE_CASE; i++) folded[s->have + (size_t)i] = fold(buffer[s->have + (size_t)i]);
    s->have += (size_t)got;
  }
  return 0;
}

static void count_lines(struct scan *s, size_t to) {
  for (char *at; s->counted < to && (at = memchr(buffer + s->counted, '\n', to - s->counted));) {
    s->counted = (size_t)(at - buffer) + 1;
    s->line++;
    s->line_at = s->base + s->counted;
  }
  if (s->counted < to) s->counted = to;
}

static const char *find(size_t from, size_t have) {
  bool ignore_case = wanted->flags & FLAG_IGNORE_CASE;
  const char *in = ignore_case ? folded : buffer;
  const char *at = memmem(in + from, have - from, ignore_case ? folded_text : wanted->text, text_size);
  return at ? buffer + (at - in) : NULL;
}

/* The line around a match, or as much of it as is told. */
static int tell_line(struct scan *s, size_t at) {
  count_lines(s, at);
  size_t start = s->line_at >= s->base ? (size_t)(s->line_at - s->base) : 0;
  if (at - start > CONTEXT_BYTES && at + text_size - start > line_bytes) start = at - CONTEXT_BYTES;
  size_t size = s->have - start < line_bytes ? s->have - start : line_bytes;
  const char *newline = memchr(buffer + start, '\n', size);
  if (newline) size = (size_t)(newline - buffer) - start;
  return tell(S_IFREG, s->line, s->base + at - s->line_at + 1, buffer + start, size);
}

/* The first match of each line. */
static int search_lines(int fd) {
  struct scan s = {.line = 1};
  size_t from = 0;
  bool skip = false; /* the rest of a line that was told */
  if (refill(&s, fd, 0) < 0) return -1;
  for (;;) {
    if (!(wanted->flags & FLAG_BINARY) && memchr(buffer + from, 0, s.have - from)) return 0;
    for (;;) {
      if (skip) {
        const char *newline = memchr(buffer + from, '\n', s.have - from);
        from = newline ? (size_t)(newline - buffer) + 1 : s.have;
        skip = !newline;
        if (skip) break;
      }
      const char *at = from < s.have ? find(from, s.have) : NULL;
      if (!at) break;
      from = (size_t)(at - buffer);
      if (!s.end && from > 0 && s.have - from < line_bytes + CONTEXT_BYTES) break; /* its line may go on past the buffer */
      int result = tell_line(&s, from);
      if (result) return result;
      skip = true;
    }
    if (s.end) return 0;
    size_t tail = text_size + line_bytes + CONTEXT_BYTES, keep = from;
    if (!skip && s.have - keep > tail) keep = s.have - tail;
    if (keep < from) keep = from;
    size_t context = keep > line_bytes ? line_bytes : keep;
    count_lines(&s, keep);
    from = context;
    if (refill(&s, fd, keep - context) < 0) return -1;
  }
}

/* The file itself, after a row with its path: in rows without one. An empty one says that this was all of it. */
static int tell_file(int fd) {
  struct match row = {S_IFREG, (uint32_t)strlen(shown), 0, 0, 0, 0};
  struct scan s = {.line = 1};
  if (write_all(OUT, &row, sizeof row) < 0 || write_all(OUT, shown, row.path_size) < 0) return -1;
  while (!s.end) {
    if (refill(&s, fd, s.have) < 0) return -1;
    if (s.have == 0) break;
    if (!(wanted->flags & FLAG_BINARY) && memchr(buffer, 0, s.have)) return 0;
    struct match piece = {S_IFREG, 0, (uint32_t)s.have, 0, 0, 0};
    if (write_all(OUT, &piece, sizeof piece) < 0 || write_all(OUT, buffer, s.have) < 0) return -1;
  }
  struct match whole = {S_IFREG, 0, 0, 0, 0, 0};
  return s.cut ? 0 : write_all(OUT, &whole, sizeof whole);
}

static int search_file(int folder, const char *name) {
  struct stat info;
  int fd = walk_file(folder, name, &info);
  if (fd < 0) return errno == ENOENT || walk_shut(errno) ? 0 : -1;
  if ((uint64_t)info.st_size > wanted->file_bytes) return close(fd), truncated = true, 0;
  files_read++;
  int result = wanted->flags & FLAG_WHOLE ? tell_file(fd) : search_lines(fd), error = errno;
  if (result == 0 && bytes_left == 0) result = truncated = true;
  close(fd);
  return errno = error, result;
}

/* A pattern with a slash is of the whole path, another of the last name. */
static bool name_matches(const char *name) {
  int flags = wanted->flags & FLAG_IGNORE_CASE ? FNM_CASEFOLD : 0;
  if (!wanted->name) return true;
  return fnmatch(wanted->name, strchr(wanted->name, '/') ? shown : name, flags) == 0;
}

struct level {
  size_t length; /* of the folder's path, which `shown` holds */
  int depth;
};

/* 0, 1 when a limit ends the search, or -1. */
static int search_one(int folder, const char *name, void *about) {
  const struct level *at = about;
  struct stat info;
  size_t size = strlen(name);
  if (aborted) return errno = ECANCELED, -1;
  if (at->length + size + 2 > PATH_BYTES) return truncated = true, 0;
  memcpy(shown + at->length, name, size + 1);
  if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) < 0) return errno == ENOENT || walk_shut(errno) ? 0 : -1;
  if (name_matches(name)) {
    int result = 0;
    if (!wanted->text && !(wanted->flags & FLAG_WHOLE)) result = tell(info.st_mode, 0, 0, "", 0);
    else if (S_ISREG(info.st_mode)) result = search_file(folder, name);
    if (result) return result;
  }
  if (!S_ISDIR(info.st_mode)) return 0;
  if (at->depth == DEPTH_MAX) return truncated = true, 0;
  int inner = walk_folder(folder, name);
  if (inner < 0) return errno == ENOENT || walk_shut(errno) ? 0 : -1;
  strcpy(shown + at->length + size, "/");
  struct level below = {at->length + size + 1, at->depth + 1};
  return walk_each(inner, below.depth, search_one, &below);
}

int search(const struct spec *spec) {
  struct level top = {0, 0};
  wanted = spec;
  text_size = spec->text ? strlen(spec->text) : 0;
  line_bytes = spec->line_bytes < LINE_BYTES ? (size_t)spec->line_bytes : LINE_BYTES;
  bytes_left = spec->length;
  if (spec->text && (text_size == 0 || text_size > sizeof folded_text)) return errno = EINVAL, -1;
  for (size_t i = 0; i < text_size; i++) folded_text[i] = fold(spec->text[i]);
  int folder = walk_open(spec->path, O_RDONLY | O_DIRECTORY);
  if (folder < 0 || walk_each(folder, 0, search_one, &top) < 0) return -1;
  struct match end = {0, END, 0, truncated, files_read, matches};
  return write_all(OUT, &end, sizeof end);
}
