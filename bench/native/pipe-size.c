/* pipe-size FIFO BYTES: sets the capacity of a FIFO that somebody holds open; Node has no fcntl. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  if (argc != 3) return 64;
  int fd = open(argv[1], O_RDWR | O_NONBLOCK);
  return fd < 0 || fcntl(fd, F_SETPIPE_SZ, atoi(argv[2])) < 0;
}
