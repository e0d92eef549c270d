#include "worker.h"

#include <stdlib.h>
#include <string.h>

/* Files with several names, by inode. What is past these numbers is told as files of their own. */
enum { LINKS_KNOWN = 64 * 1024, NAMES_BYTES = 8 * 1024 * 1024, SLOTS = 2 * LINKS_KNOWN };

struct known {
  dev_t device;
  ino_t inode;
  char *name;
};

static struct known *slots;
static size_t known, names_bytes;

const char *hard_link_of(const struct stat *info, const char *name) {
  if (info->st_nlink < 2) return NULL;
  if (!slots && !(slots = calloc(SLOTS, sizeof *slots))) return NULL;
  size_t at = (size_t)((info->st_ino ^ info->st_dev) * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SLOTS;
  for (; slots[at].name; at = (at + 1) % SLOTS)
    if (slots[at].device == info->st_dev && slots[at].inode == info->st_ino) return slots[at].name;
  size_t size = strlen(name) + 1;
  if (known == LINKS_KNOWN || names_bytes + size > NAMES_BYTES || !(slots[at].name = strdup(name))) return NULL;
  slots[at].device = info->st_dev;
  slots[at].inode = info->st_ino;
  known++;
  names_bytes += size;
  return NULL;
}
