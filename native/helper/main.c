/* caisson-helper: what Node cannot do on the host. */
#include "helper.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int usage(void) {
  fputs("usage: caisson-helper serve | enter NEWUIDMAP NEWGIDMAP UID COUNT GID COUNT | become UID GID HOME PROGRAM ARGS... |\n"
        "  become-host UID GID GROUPS apart|among HOME PROGRAM ARGS... |\n"
        "  hold | sha256\n",
        stderr);
  return 64;
}

/* Stands in for a guest where an engine is probed or tested. */
static NORETURN void hold(void) {
  for (;;) pause();
}

static int print_sha256(void) {
  static char bytes[1 << 16];
  struct sha256 hash;
  uint8_t digest[32];
  ssize_t got;
  sha256_init(&hash);
  while ((got = read(STDIN_FILENO, bytes, sizeof bytes)) > 0) sha256_update(&hash, bytes, (size_t)got);
  sha256_final(&hash, digest);
  for (size_t i = 0; i < sizeof digest; i++) printf("%02x", digest[i]);
  putchar('\n');
  return got < 0;
}

int main(int argc, char **argv) {
  if (argc == 8 && strcmp(argv[1], "enter") == 0) rootless_enter(argv + 2);
  if (argc >= 6 && strcmp(argv[1], "become") == 0) become(argv + 2);
  if (argc >= 8 && strcmp(argv[1], "become-host") == 0) become_host(argv + 2);
  if (argc != 2) return usage();
  if (strcmp(argv[1], "serve") == 0) return serve();
  if (strcmp(argv[1], "serve-rootless") == 0) {
    rootless_activate();
    return serve();
  }
  if (strcmp(argv[1], "hold") == 0) hold();
  if (strcmp(argv[1], "sha256") == 0) return print_sha256();
  return usage();
}
