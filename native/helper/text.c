#include "helper.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

char *format_text(const char *format, ...) {
  char *text = NULL;
  va_list values;
  va_start(values, format);
  int length = vasprintf(&text, format, values);
  va_end(values);
  if (length < 0) fail_with(ENOMEM, "no memory for a path");
  return text;
}

ssize_t read_whole(int fd, void *bytes, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t got = read(fd, (char *)bytes + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += (size_t)got;
  }
  return (ssize_t)done;
}

bool write_whole(int fd, const void *bytes, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t put = write(fd, (const char *)bytes + done, size - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    done += (size_t)put;
  }
  return true;
}

bool write_file(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t put = write(fd, text, strlen(text));
  int error = errno;
  close(fd);
  errno = error;
  return put == (ssize_t)strlen(text);
}

int64_t clock_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}
