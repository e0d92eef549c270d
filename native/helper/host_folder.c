#include "helper.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int open_host_folder(const char *path) {
  int folder = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  while (folder >= 0 && *(path += strspn(path, "/")) != '\0') {
    char part[256];
    size_t length = strcspn(path, "/");
    if (length >= sizeof part) {
      close(folder);
      errno = ENAMETOOLONG;
      return -1;
    }
    memcpy(part, path, length);
    part[length] = '\0';
    path += length;
    int next = openat(folder, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(folder);
    folder = next;
  }
  if (folder < 0) return -1;
  int readable = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  close(folder);
  return readable;
}
