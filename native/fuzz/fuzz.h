/* A fuzz target takes bytes and ends the process where something is wrong: by a sanitizer, or by expect(). */
#ifndef CAISSON_FUZZ_H
#define CAISSON_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INPUT_BYTES = 16 * 1024 };

struct target {
  const char *name;
  void (*run)(const uint8_t *data, size_t size);
};
extern const struct target wire_target, tar_target, mistake_target;

void expect(bool holds, const char *claim);

#endif
