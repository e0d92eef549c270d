/* zeros BYTES: writes so many zeros, 64 KiB at a time. There is no newline among them: it is one line. */
#include <stdlib.h>
#include <unistd.h>

static char block[64 * 1024];

int main(int argc, char **argv) {
  if (argc != 2) return 64;
  for (long long left = atoll(argv[1]); left > 0;) {
    size_t size = left < (long long)sizeof block ? (size_t)left : sizeof block;
    ssize_t written = write(1, block, size);
    if (written <= 0) return 1;
    left -= written;
  }
  return 0;
}
