#include "guest.h"

#include <string.h>

/* A payload is a row of [u32 tag][u32 size][bytes]; strings carry their NUL, numbers are u64, all little-endian. */

static bool text(uint8_t *data, uint32_t size, const char **out) {
  if (size == 0 || data[size - 1] != 0 || memchr(data, 0, size - 1)) return false;
  *out = (const char *)data;
  return true;
}

static bool number(const uint8_t *data, uint32_t size, uint64_t *out) {
  if (size != 8) return false;
  memcpy(out, data, 8);
  return true;
}

static bool duration(const uint8_t *data, uint32_t size, uint64_t *out) {
  return number(data, size, out) && *out <= DURATION_MOST_MS;
}

static bool append(uint8_t *data, uint32_t size, char **list, size_t *count) {
  const char *item;
  if (*count >= ARGUMENTS_MAX || !text(data, size, &item)) return false;
  list[(*count)++] = (char *)item;
  list[*count] = NULL;
  return true;
}

static bool take(struct spec *spec, uint32_t tag, uint8_t *data, uint32_t size) {
  switch ((enum spec_tag)tag) {
    case TAG_ARGUMENT: return append(data, size, spec->arguments, &spec->argument_count);
    case TAG_ENVIRONMENT: return append(data, size, spec->environment, &spec->environment_count);
    case TAG_FOLDER: return text(data, size, &spec->folder);
    case TAG_PATH: return text(data, size, &spec->path);
    case TAG_TARGET: return text(data, size, &spec->target);
    case TAG_TIMEOUT_MS: return duration(data, size, &spec->timeout_ms);
    case TAG_CPU_MS: return duration(data, size, &spec->cpu_ms);
    case TAG_PROCESSES: return number(data, size, &spec->processes);
    case TAG_MEMORY_BYTES: return number(data, size, &spec->memory_bytes);
    case TAG_OPEN_FILES: return number(data, size, &spec->open_files);
    case TAG_FLAGS: return number(data, size, &spec->flags);
    case TAG_OFFSET: return number(data, size, &spec->offset);
    case TAG_LENGTH: return number(data, size, &spec->length);
    case TAG_MODE: return number(data, size, &spec->mode);
    case TAG_LEASE_MS: return duration(data, size, &spec->lease_ms);
    case TAG_TERMINAL: return number(data, size, &spec->terminal);
    case TAG_COUNT: return number(data, size, &spec->count);
    case TAG_DEPTH: return number(data, size, &spec->depth);
    case TAG_FILE_BYTES: return number(data, size, &spec->file_bytes);
    case TAG_LINE_BYTES: return number(data, size, &spec->line_bytes);
    case TAG_SPOT: return number(data, size, &spec->spot);
    case TAG_NAME: return text(data, size, &spec->name);
    case TAG_TEXT: return text(data, size, &spec->text);
  }
  return false;
}

bool spec_parse(uint8_t *data, size_t size, struct spec *spec) {
  memset(spec, 0, offsetof(struct spec, arguments) + sizeof spec->arguments[0]);
  spec->environment[0] = NULL;
  spec->argument_count = spec->environment_count = 0;
  memset(&spec->folder, 0, sizeof *spec - offsetof(struct spec, folder));
  while (size > 0) {
    uint32_t tag, length;
    if (size < 8) return false;
    memcpy(&tag, data, 4);
    memcpy(&length, data + 4, 4);
    data += 8;
    size -= 8;
    if (length > size || !take(spec, tag, data, length)) return false;
    data += length;
    size -= length;
  }
  return true;
}
