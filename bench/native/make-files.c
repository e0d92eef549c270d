/* make-files FIRST LAST: makes files FIRST..LAST-1 of some bytes each in the current folder, a hundred a subfolder. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 3) return 64;
  for (int i = atoi(argv[1]); i < atoi(argv[2]); i++) {
    char path[64];
    snprintf(path, sizeof path, "folder-%d", i / 100);
    if (i % 100 == 0 && mkdir(path, 0755) != 0) return 1;
    snprintf(path, sizeof path, "folder-%d/file-%d", i / 100, i);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (fd < 0 || write(fd, path, sizeof path) != sizeof path) return 1;
    close(fd);
  }
  return 0;
}
