/* Reading a hostile archive: untar.c tells what stands in it, unpack.c does it. */
#ifndef CAISSON_UNTAR_H
#define CAISSON_UNTAR_H

#include "tar.h"
#include "worker.h"

#include <time.h>

/* One entry, its name checked: relative, without `.`, `..` or empty parts. Empty for the folder itself. */
struct untar_entry {
  char type; /* TAR_FILE, TAR_HARD_LINK, TAR_LINK or TAR_FOLDER; TAR_REMOVAL and TAR_CHANGE with FLAG_EXACT */
  char name[PATH_BYTES], target[PATH_BYTES];
  int depth; /* parts of the name */
  uint32_t mode;
  uint64_t size;
  struct timespec mtime;
};

/* Says why the archive is refused, once, and returns -1 with errno: EBADMSG, or EOVERFLOW for a limit. */
int refuse(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* 1 with an entry, 0 at the end of the archive, -1 with errno. The bytes of a file are read before the next entry. */
int untar_next(struct untar_entry *entry, const struct spec *limits);
/* Up to size bytes of the current file; 0 at its end. */
ssize_t untar_read(void *buffer, size_t size);

/* folders.c: the folder of a name under root, made where it is missing, never through a link; last points into the name. */
int open_parent(int root, const char *name, bool make, const char **last);
int set_time(int fd, int folder, const char *name, struct timespec mtime);
/* Folders get their mode and time last, when nothing is put into them any more. Kept in a file, not in memory. */
int folders_open(int folder, const char *name);
int folders_add(const struct untar_entry *entry);
int folders_finish(int target);

#endif
