/* Runs inputs through a target, one process each, and looks for more: `caisson-fuzz TARGET CORPUS` replays a corpus;
   with SECONDS it goes on from there, keeps what reaches new code, and saves what fails in FOUND (docs in CONTRIBUTING.md).

   caisson-fuzz TARGET CORPUS [SECONDS SEED FOUND] */
#define _GNU_SOURCE
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PLACES = 1 << 16, INPUTS_MAX = 4096, INPUT_SECONDS = 20, FAILURES_MAX = 5 };
#define UNCOVERED __attribute__((no_sanitize_coverage, no_sanitize("address", "undefined")))

struct input {
  uint8_t *bytes;
  size_t size;
};

static uint8_t *reached; /* shared with the processes that run inputs */
static uint8_t known[PLACES];
static struct input inputs[INPUTS_MAX];
static size_t input_count, failures;
static uint64_t random_state;
static const struct target *const targets[] = {&wire_target, &tar_target, &mistake_target};

UNCOVERED void __sanitizer_cov_trace_pc(void) {
  uintptr_t pc = (uintptr_t)__builtin_return_address(0);
  uint8_t *place = reached ? &reached[(pc ^ pc >> 16) % PLACES] : NULL;
  if (place && *place < 255) ++*place;
}

const char *__asan_default_options(void) { return "detect_leaks=0:exitcode=86:allocator_may_return_null=1"; }

void expect(bool holds, const char *claim) {
  if (holds) return;
  fprintf(stderr, "fuzz: this does not hold: %s\n", claim);
  _exit(86);
}

static uint64_t pick(uint64_t below) { /* xorshift64* */
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return below ? (random_state * 2685821657736338717u >> 11) % below : 0;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Runs one input; false where it failed. */
static bool run(const struct target *target, const uint8_t *bytes, size_t size) {
  memset(reached, 0, PLACES);
  pid_t pid = fork();
  if (pid == 0) {
    alarm(INPUT_SECONDS); /* what hangs has failed */
    target->run(bytes, size);
    _exit(0);
  }
  int status;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) {
    perror("caisson-fuzz");
    exit(2);
  }
  if (WIFSIGNALED(status)) fprintf(stderr, "fuzz: ended by signal %d\n", WTERMSIG(status));
  return status == 0;
}

/* Whether the last run reached what no other had: a place, or one of them by an order of magnitude more often. */
static bool is_new(void) {
  bool found = false;
  for (size_t i = 0; i < PLACES; i++) {
    uint8_t count = reached[i], bit = (uint8_t)(!count ? 0 : count < 2 ? 1 : count < 4 ? 2 : count < 16 ? 4 : count < 128 ? 8 : 16);
    if (bit & ~known[i]) found = true;
    known[i] |= bit;
  }
  return found;
}

static void keep(const uint8_t *bytes, size_t size) {
  if (input_count == INPUTS_MAX) return;
  uint8_t *copy = malloc(size + 1);
  if (!copy) exit(2);
  memcpy(copy, bytes, size);
  inputs[input_count++] = (struct input){copy, size};
}

static void save(const char *folder, const char *kind, const uint8_t *bytes, size_t size) {
  char path[512];
  uint64_t hash = 1469598103934665603u; /* FNV-1a */
  for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
  snprintf(path, sizeof path, "%s/%s-%016llx", folder, kind, (unsigned long long)hash);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) {
    perror(path);
    exit(2);
  }
  fprintf(stderr, "fuzz: saved %s\n", path);
}

static bool replay(const struct target *target, const char *folder) {
  static uint8_t bytes[INPUT_BYTES];
  DIR *list = opendir(folder);
  bool good = true;
  if (!list) {
    perror(folder);
    exit(2);
  }
  for (struct dirent *entry; (entry = readdir(list));) {
    char path[512];
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    FILE *file = fopen(path, "rb");
    if (!file) continue;
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if (!run(target, bytes, size)) {
      fprintf(stderr, "fuzz: %s failed\n", path);
      good = false;
    }
    is_new();
    keep(bytes, size);
  }
  closedir(list);
  return good;
}

static size_t splice(uint8_t *bytes, size_t size, size_t at) {
  const struct input *other = &inputs[pick(input_count)];
  size_t from = pick(other->size), length = pick(other->size - from) + 1;
  if (from + length > other->size) length = other->size - from;
  if (length > INPUT_BYTES - at) length = INPUT_BYTES - at;
  memcpy(bytes + at, other->bytes + from, length);
  return at + length > size ? at + length : size;
}

static size_t remove_some(uint8_t *bytes, size_t size, size_t at) {
  size_t length = pick(size - at < 64 ? size - at : 64);
  memmove(bytes + at, bytes + at + length, size - at - length);
  return size - length;
}

static size_t repeat_some(uint8_t *bytes, size_t size, size_t at) {
  size_t length = pick(size - at < 256 ? size - at : 256);
  if (size + length > INPUT_BYTES) return size;
  memmove(bytes + at + length, bytes + at, size - at);
  return size + length;
}

static size_t mutate(uint8_t *bytes, size_t size) {
  static const uint64_t odd[] = {0, 1, 2, 127, 128, 255, 4072, 4096, 65535, 65536, 1u << 20, 0x7fffffff, 0xffffffff, UINT64_MAX};
  for (uint64_t n = pick(6) + 1; n > 0; n--) {
    size_t at = pick(size);
    switch (pick(7)) {
      case 0: bytes[at] = (uint8_t)pick(256); break;
      case 1: bytes[at] ^= (uint8_t)(1u << pick(8)); break;
      case 2: bytes[at] = (uint8_t)(bytes[at] + pick(9) - 4); break;
      case 3: {
        size_t width = (size_t)1 << pick(4);
        if (width <= size - at) memcpy(bytes + at, &odd[pick(sizeof odd / sizeof *odd)], width);
        break;
      }
      case 4: size = splice(bytes, size, at); break;
      case 5: if (size > 1) size = remove_some(bytes, size, at); break;
      case 6: size = repeat_some(bytes, size, at); break;
    }
    if (size == 0) bytes[0] = 0, size = 1;
  }
  return size;
}

static void explore(const struct target *target, double until, const char *found) {
  static uint8_t bytes[INPUT_BYTES];
  size_t runs = 0;
  for (; seconds() < until && failures < FAILURES_MAX; runs++) {
    const struct input *from = &inputs[pick(input_count)];
    memcpy(bytes, from->bytes, from->size);
    size_t size = mutate(bytes, from->size);
    if (!run(target, bytes, size)) {
      failures++;
      save(found, "failure", bytes, size);
    } else if (is_new()) {
      keep(bytes, size);
      save(found, "new", bytes, size);
    }
  }
  fprintf(stderr, "fuzz: %zu inputs run, %zu kept, %zu failed\n", runs, input_count, failures);
}

int main(int count, char **words) {
  const struct target *target = NULL;
  for (size_t i = 0; count > 2 && i < sizeof targets / sizeof *targets; i++)
    if (!strcmp(targets[i]->name, words[1])) target = targets[i];
  if (!target || (count != 3 && count != 6)) {
    fprintf(stderr, "usage: caisson-fuzz TARGET CORPUS [SECONDS SEED FOUND]\n");
    return 2;
  }
  reached = mmap(NULL, PLACES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (reached == MAP_FAILED) return 2;
  bool good = replay(target, words[2]);
  fprintf(stderr, "fuzz: %zu inputs replayed\n", input_count);
  if (count == 3) return good ? 0 : 1;
  random_state = strtoull(words[4], NULL, 10) * 2654435761u + 1;
  if (input_count == 0) keep((const uint8_t *)"", 1);
  explore(target, seconds() + atof(words[3]), words[5]);
  return good && failures == 0 ? 0 : 1;
}
