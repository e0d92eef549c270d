/* spawner ROUNDS PROGRAM [ARGUMENT…]: posix_spawn and waitpid, one after the other, with output to /dev/null; prints the
   microseconds of each. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int main(int argc, char **argv) {
  posix_spawn_file_actions_t quiet;
  if (argc < 3) return 64;
  if (posix_spawn_file_actions_init(&quiet) != 0) return 1;
  if (posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0) != 0) return 1;
  int rounds = atoi(argv[1]);
  double *took_us = calloc((size_t)rounds, sizeof *took_us);
  if (took_us == NULL) return 1;
  for (int i = 0; i < rounds; i++) {
    pid_t pid;
    int status;
    double start = now_us();
    if (posix_spawn(&pid, argv[2], &quiet, NULL, argv + 2, environ) != 0) return 1;
    if (waitpid(pid, &status, 0) != pid || status != 0) return 1;
    took_us[i] = now_us() - start;
  }
  for (int i = 0; i < rounds; i++) printf("%.2f\n", took_us[i]);
  return 0;
}
