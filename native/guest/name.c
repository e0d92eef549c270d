#define _GNU_SOURCE
#include "guest.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What goes on from saved memory has the host name of its original until its owner tells it its own. /etc, which all sandboxes
   share, has links to the files that say it. */

enum { NAME_MOST = 63 };
static char current[NAME_MOST + 1];

/* A reader finds the old file or the new one, whole. User code can make nothing there. */
static void say(const char *path, const char *format) {
  char fresh[64];
  char text[256];
  int size = snprintf(text, sizeof text, format, current);
  snprintf(fresh, sizeof fresh, "%s.new", path);
  unlink(fresh);
  int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
  if (fd < 0) return; /* /run is full: programs do without */
  bool whole = write(fd, text, (size_t)size) == size && fchmod(fd, 0444) == 0;
  close(fd);
  if (!whole || rename(fresh, path) < 0) unlink(fresh);
}

static void say_all(void) {
  say("/run/caisson/hostname", "%s\n");
  say("/run/caisson/hosts", "127.0.0.1 localhost %s\n::1 localhost\n");
}

void name_prepare(void) {
  if (gethostname(current, sizeof current - 1) < 0) die("gethostname");
  mkdir("/run/caisson", 0755);
  say_all();
}

static bool is_name(const char *name) {
  size_t size = strlen(name);
  return size > 0 && size <= NAME_MOST && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == size;
}

/* Whether it was another's: this is a copy. Where the guest may not change it nothing goes on from saved memory, or it was saved by an older guest. */
bool name_set(const char *name) {
  if (!name || !is_name(name) || !strcmp(name, current) || !privilege_rename(name)) return false;
  strcpy(current, name);
  say_all();
  return true;
}
