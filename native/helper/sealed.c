/*
 * runc and crun copy themselves into memory for every container, so that none can write to the program that starts the
 * others (CVE-2019-5736); one that already runs from a sealed copy does not. The resident process keeps that copy for
 * all its sandboxes: nobody can write to it, the helper included.
 */
#include "helper.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_SEAL_SEAL 1
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW 4
#define F_SEAL_WRITE 8
#endif
enum { ALL_SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, COPY_BYTES_MAX = 64 << 20 };

static struct {
  int fd;
  struct stat of;
} copy = {.fd = -1};

static bool same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
         a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
         a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool fill(int to, int from, off_t size) {
  for (off_t at = 0; at < size;)
    if (sendfile(to, from, &at, (size_t)(size - at)) <= 0) return false;
  return fchmod(to, 0555) == 0 && fcntl(to, F_ADD_SEALS, ALL_SEALS) == 0;
}

/* Kernels before 6.3 do not know the wish to execute it, and grant it. */
static int make_memory(void) {
  int fd = (int)syscall(SYS_memfd_create, "caisson-runtime", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
  if (fd >= 0 || errno != EINVAL) return fd;
  return (int)syscall(SYS_memfd_create, "caisson-runtime", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

static int make_copy(const char *path, struct stat *of) {
  int from = open(path, O_RDONLY | O_CLOEXEC);
  int to = -1;
  if (from >= 0 && fstat(from, of) == 0 && S_ISREG(of->st_mode) && of->st_size <= COPY_BYTES_MAX) to = make_memory();
  if (to >= 0 && !fill(to, from, of->st_size)) {
    close(to);
    to = -1;
  }
  if (from >= 0) close(from);
  return to;
}

/* Where no copy can be made the runtime is started by its path, and makes its own. */
void sealed_prepare(const char *path) {
  struct stat now;
  if (copy.fd >= 0 && stat(path, &now) == 0 && same(&now, &copy.of)) return;
  if (copy.fd >= 0) close(copy.fd);
  copy.fd = make_copy(path, &copy.of);
}

void sealed_execute(char **argv, char **environment) {
  if (copy.fd >= 0) syscall(SYS_execveat, copy.fd, "", argv, environment, AT_EMPTY_PATH);
}
