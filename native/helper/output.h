/* What the reader of an output folder tells its writer: records of a kind and a length, then so many bytes. */
#pragma once
#include "helper.h"

enum output_kind { OUTPUT_FOLDER, OUTPUT_FILE, OUTPUT_BYTES, OUTPUT_END, OUTPUT_TORN, OUTPUT_SKIPPED, OUTPUT_DONE };
enum { OUTPUT_DEPTH_MAX = 64, OUTPUT_PIECE_BYTES = 1 << 16, OUTPUT_NAME_BYTES = 255 };

struct output_record {
  uint32_t kind;
  uint32_t length;
};
struct output_counts {
  uint64_t files;
  uint64_t bytes;
  uint64_t skipped;
  uint64_t whole;
};

/* Whether a name may be given to a file of the host: text without control characters, and none of the writer's own. */
bool output_name_is_plain(const char *name);
#define OUTPUT_PART ".caisson-part"

/* output_read.c: with the workspace as its root. */
NORETURN void output_read(int out, uint64_t files, uint64_t bytes);

/* output_write.c: into the folder `id` of the one that is its root; returns when all has come. */
struct output_counts output_write(int in, const char *id, uint64_t reserve_bytes);
