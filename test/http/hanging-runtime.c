/* A runtime that says which version it is, and does nothing else, for ever. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  for (int n = 1; n < argc; n++)
    if (strcmp(argv[n], "--version") == 0) {
      puts("runc version 1.2.0");
      return 0;
    }
  for (;;) pause();
}
