#define _GNU_SOURCE
#include "guest.h"

#include <unistd.h>

/* gVisor has these in every sandbox, open to all. No program can use them without a capability; nor need it reach their code. */
static const char *const unwanted[] = {"/dev/fuse", "/dev/net/tun"};

void devices_prepare(void) {
  for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
    if (unlink(unwanted[i]) < 0 && errno != ENOENT) die(unwanted[i]);
}
