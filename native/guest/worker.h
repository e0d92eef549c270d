/* What the workers of file operations share (file.c): each has the user's rights, and a stream as its input and output. */
#ifndef CAISSON_WORKER_H
#define CAISSON_WORKER_H

#include "guest.h"

#include <signal.h>
#include <sys/stat.h>

enum { IN = 0, OUT = 1, DEPTH_MAX = 128 };
#define END UINT32_MAX /* in place of a path's size: the last row */

/* file.c */
extern volatile sig_atomic_t aborted;
int write_all(int fd, const void *data, size_t size);
int remove_tree(int folder, const char *name, int depth);

/* pack.c, unpack.c, restore.c, search.c: 0, or -1 with errno */
int pack(const struct spec *spec);
int unpack(const struct spec *spec);
int restore(const struct spec *spec);
int search(const struct spec *spec);

/* busy.c */
int busy(void);

/* deliver.c: into /run, by a worker that is root without any capability */
int deliver(const struct spec *spec);

/* hard_links.c: the first name of a file that has several, or NULL for the first time (or when too many are known). */
const char *hard_link_of(const struct stat *info, const char *name);

/* place.c: moves what lies in one folder into another, whole or not at all as far as names decide it. */
int place_check(int from, int to, bool replace);
int place_move(int from, int to);

#endif
