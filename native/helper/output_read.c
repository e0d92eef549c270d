/* Reads a hostile tree as the sandbox's own user (hazard 1): what is neither a file nor a folder stays where it is. */
#include "output.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct reader {
  int out;
  dev_t device;
  uint64_t files;
  uint64_t bytes;
  bool whole;
};

static void tell(const struct reader *reader, uint32_t kind, const void *bytes, size_t length) {
  struct output_record record = {.kind = kind, .length = (uint32_t)length};
  if (!write_whole(reader->out, &record, sizeof record) || !write_whole(reader->out, bytes, length)) _exit(1);
}

static bool is_of(const struct reader *reader, int fd, mode_t type) {
  struct stat info;
  return fstat(fd, &info) == 0 && (info.st_mode & S_IFMT) == type && info.st_dev == reader->device;
}

static void send_bytes(struct reader *reader, int fd) {
  static char bytes[OUTPUT_PIECE_BYTES];
  ssize_t got;
  while ((got = read(fd, bytes, sizeof bytes)) > 0) {
    if ((uint64_t)got > reader->bytes) {
      reader->whole = false;
      break;
    }
    reader->bytes -= (uint64_t)got;
    tell(reader, OUTPUT_BYTES, bytes, (size_t)got);
  }
  tell(reader, got == 0 ? OUTPUT_END : OUTPUT_TORN, "", 0);
}

static void send_folder(struct reader *reader, int fd, unsigned depth);

static void send_entry(struct reader *reader, int parent, const char *name, unsigned depth) {
  int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  struct stat info;
  /* Looked at first: opening a device or a FIFO could do something. */
  bool known = output_name_is_plain(name) && fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
               (S_ISREG(info.st_mode) || (S_ISDIR(info.st_mode) && depth < OUTPUT_DEPTH_MAX));
  int fd = known ? openat(parent, name, S_ISDIR(info.st_mode) ? flags | O_DIRECTORY : flags) : -1;
  /* A sparse file says at once that it is more than the workspace could hold. */
  bool bomb = known && S_ISREG(info.st_mode) && (uint64_t)info.st_size > reader->bytes;
  if (fd < 0 || bomb || !is_of(reader, fd, info.st_mode & S_IFMT)) {
    if (fd >= 0) close(fd);
    tell(reader, OUTPUT_SKIPPED, "", 0);
    return;
  }
  if (S_ISDIR(info.st_mode)) {
    tell(reader, OUTPUT_FOLDER, name, strlen(name));
    send_folder(reader, fd, depth + 1);
    tell(reader, OUTPUT_END, "", 0);
    return;
  }
  tell(reader, OUTPUT_FILE, name, strlen(name));
  send_bytes(reader, fd);
  close(fd);
}

/* Takes `fd` over and closes it. */
static void send_folder(struct reader *reader, int fd, unsigned depth) {
  DIR *folder = fdopendir(fd);
  if (folder == NULL) {
    close(fd);
    reader->whole = false;
    return;
  }
  const struct dirent *entry;
  while (reader->whole && (errno = 0, entry = readdir(folder)) != NULL) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (reader->files == 0) {
      reader->whole = false;
      break;
    }
    reader->files--;
    send_entry(reader, fd, entry->d_name, depth);
  }
  if (reader->whole && errno != 0) reader->whole = false;
  closedir(folder);
}

void output_read(int out, uint64_t files, uint64_t bytes) {
  struct stat info;
  struct reader reader = {.out = out, .files = files, .bytes = bytes, .whole = true};
  int fd = open("/output", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0 && stat("/", &info) == 0) {
    reader.device = info.st_dev;
    if (is_of(&reader, fd, S_IFDIR)) send_folder(&reader, fd, 0);
  }
  tell(&reader, OUTPUT_DONE, reader.whole ? "w" : "c", 1);
  _exit(0);
}
