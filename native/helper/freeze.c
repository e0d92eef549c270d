/*
 * Makes the image of a stopped sandbox fit to be a layer, or copies that of a running one while its file system is frozen
 * (hazard 9). Either way the file is clean then: no journal is ever read from a layer.
 */
#include "helper.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  SUPERBLOCK_AT = 1024,
  STATE_AT = 0x3A,
  INCOMPAT_AT = 0x60,
  STATE_CLEAN = 1,
  STATE_ERRORS = 2,
  NEEDS_RECOVERY = 4,
};

/* A superblock that this engine's kernel wrote. */
static bool is_clean(int image) {
  uint8_t block[256];
  if (pread(image, block, sizeof block, SUPERBLOCK_AT) != sizeof block) fail("cannot read the volume");
  unsigned state = block[STATE_AT] | (unsigned)block[STATE_AT + 1] << 8;
  if ((state & STATE_ERRORS) != 0) fail_with(EBADMSG, "the file system of the sandbox has errors");
  return (state & STATE_CLEAN) != 0 && (block[INCOMPAT_AT] & NEEDS_RECOVERY) == 0;
}

/* Where nobody else sees it. */
static char *open_place(const struct request *request) {
  const char *place = request_text(request, "place");
  if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("caisson", place, "tmpfs", MS_NOSUID, "mode=0700,size=64k,nr_inodes=16") != 0)
    fail("cannot make a place for the volume");
  char *volume = format_text("%s/volume", place);
  if (mkdir(volume, 0700) != 0) fail("cannot make a place for the volume");
  return volume;
}

/* The journal of a sandbox that a crash of the machine ended is played back by this; unused blocks go back to the disk. */
static void settle(const struct request *request, const char *image) {
  char *volume = open_place(request);
  image_mount(image, volume, request_text(request, "place"));
  int fd = open(volume, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct fstrim_range all = {.len = UINT64_MAX};
  if (fd < 0 || syncfs(fd) != 0) fail("cannot write the volume to its image");
  ioctl(fd, FITRIM, &all); /* where it cannot, it takes more of the disk */
  close(fd);
  if (umount2(volume, 0) != 0) fail("cannot unmount the volume");
}

static NORETURN void freeze_stopped(const struct request *request, const char *path) {
  char digest[65] = "-";
  int image = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (image < 0) fail("cannot open the volume");
  bool whole = request_find(request, "digest") != NULL;
  if (whole || !is_clean(image)) settle(request, path);
  if (!is_clean(image)) fail_with(EBADMSG, "the volume of the sandbox is not clean");
  if (whole && fsync(image) != 0) fail("cannot write the layer to the disk");
  if (whole) layer_digest(image, digest);
  reply_ok("digest=%s", digest);
}

static char *device_of(const char *image, const char *scratch) {
  DIR *list = opendir("/sys/block");
  char *found = NULL;
  if (list == NULL) fail("cannot list the loop devices");
  for (struct dirent *entry; found == NULL && (entry = readdir(list)) != NULL;) {
    char backing[4096];
    int number;
    if (sscanf(entry->d_name, "loop%d", &number) != 1) continue;
    int fd = open(format_text("/sys/block/loop%d/loop/backing_file", number), O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read_whole(fd, backing, sizeof backing - 1);
    if (fd >= 0) close(fd);
    if (length <= 0) continue;
    backing[length] = '\0';
    backing[strcspn(backing, "\n")] = '\0';
    if (strcmp(backing, image) == 0) found = image_device(number, scratch);
  }
  closedir(list);
  if (found == NULL) fail_with(ESRCH, "the volume is not in use");
  return found;
}

/* Freezes, and thaws when the one who asked for it is done or has died, of whatever: a file system that stays frozen would
   hold its sandbox for ever. */
static NORETURN void guard(int volume, int asked, int frozen) {
  int kept[] = {volume, asked, frozen};
  char byte = 0;
  setsid();
  signal(SIGPIPE, SIG_IGN); /* it may have died before it hears of it */
  keep_only(kept, 3);
  if (ioctl(volume, FIFREEZE, 0) != 0) _exit(1);
  write_whole(frozen, &byte, 1);
  while (read(asked, &byte, 1) < 0 && errno == EINTR) continue;
  ioctl(volume, FITHAW, 0);
  _exit(0);
}

/* Closing what it returns thaws. */
static int freeze_volume(int volume) {
  int asked[2], frozen[2];
  char byte;
  if (pipe2(asked, O_CLOEXEC) != 0 || pipe2(frozen, O_CLOEXEC) != 0) fail("cannot make a pipe");
  pid_t pid = fork();
  if (pid < 0) fail("cannot fork");
  if (pid == 0) guard(volume, asked[0], frozen[1]);
  close(asked[0]);
  close(frozen[1]);
  if (read_whole(frozen[0], &byte, 1) != 1) fail_with(EBUSY, "cannot freeze the volume");
  close(frozen[0]);
  return asked[1];
}

static NORETURN void copy_running(const struct request *request, const char *path, const char *copy) {
  char *place = open_place(request);
  char *device = device_of(path, request_text(request, "place"));
  /* The same file system once more: where the sandbox has it is not to be reached from here. */
  if (mount(device, place, "ext4", MS_NOSUID | MS_NODEV, NULL) != 0) fail("cannot open the volume");
  int volume = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (volume < 0) fail("cannot open the volume");
  int frozen = freeze_volume(volume);
  image_fill(path, copy);
  close(frozen);
  int image = open(copy, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (image < 0 || !is_clean(image)) fail_with(EBADMSG, "the copy of the volume is not clean");
  reply_ok("digest=-");
}

void verb_freeze(const struct request *request) {
  const char *path = request_text(request, "image"), *copy = request_find(request, "copy");
  if (copy != NULL) copy_running(request, path, copy);
  freeze_stopped(request, path);
}
